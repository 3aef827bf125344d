// SPDX-License-Identifier: Apache-2.0
// What the messages of a session hold, each with its list of fields. protocol.h says who sends
// which when; those of a test that connects are in connect_test.cpp, a failure in failure.h.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "core/engine/introduction.h"
#include "core/engine/loop/window_barrier.h"
#include "core/engine/placement/placement.h"
#include "core/result/json_text.h"
#include "core/session/protocol.h"
#include "core/session/report.h"
#include "core/verbs/port_choice.h"
#include "core/wire/auth.h"
#include "core/wire/message.h"

namespace rdmameter {

/// The message "hello".
struct Hello {
  std::uint32_t protocol = kProtocolVersion;
  std::string version = RDMAMETER_VERSION;
  std::string nonce;
};

void list_fields(auto& fields, Is<Hello> auto& hello) {
  fields("protocol", hello.protocol, {.max = 1'000'000});
  fields("version", hello.version, {.min_size = 1, .max_size = kMaxVersionBytes});
  fields("nonce", hello.nonce, {.min_size = kNonceChars, .max_size = kNonceChars});
}

/// The message "challenge".
struct ChallengeMessage {
  Hello hello;  ///< the responder's
  bool token_required = false;
};

void list_fields(auto& fields, Is<ChallengeMessage> auto& challenge) {
  list_fields(fields, challenge.hello);
  fields("token_required", challenge.token_required);
}

/// "proof", "welcome"; empty: without a token
using Proof = OneField<"proof", std::string, FieldRule{.max_size = kProofChars}>;

/// The settings of an end; a server's own have one more.
template <class End>
requires std::derived_from<std::remove_const_t<End>, EndSettings>
void list_fields(auto& fields, End& end) {
  fields("device", end.device, {.max_size = kMostDevices * (kMostDeviceChars + 1)});
  fields("port_num", end.port_num);
  fields("gid_index", end.gid_index);
  fields("core", end.core, {.max_size = 1024});
  fields("memory", end.memory, {.max_size = 2048});
  if constexpr (requires { end.gpu_registration; })
    fields("gpu_registration", end.gpu_registration,
           {.max = static_cast<std::uint64_t>(GpuRegistration::pointer_first)});
}

/// "list_ports", "describe": of the responder's devices
struct Wanted {
  /// Device, port and GID that the user has fixed; nothing: no device is opened.
  std::optional<EndSettings> end;
};

void list_fields(auto& fields, Is<Wanted> auto& wanted) {
  fields("end", wanted.end);
}

/// A question needs to know of neither cores nor memory.
inline Wanted wanted_of(EndSettings end) {
  end.core.clear();
  end.memory.clear();
  return {std::move(end)};
}

/// The message "ports".
using Ports = OneField<"ports", std::vector<PortFacts>, FieldRule{.max_size = kMostPortsTold}>;

/// What an end may use on one of its devices.
using GidsOfDevice = OneField<"gids", std::vector<Gid>, FieldRule{.max_size = kMostGidsOffered}>;

/// The message "prepare".
struct Prepare {
  Json test_case;                     ///< see case_from_wire()
  std::uint64_t seed = 0;             ///< of the payloads' patterns
  std::vector<GidsOfDevice> devices;  ///< what the initiator may use on each of its own
  bool same_host = false;
  std::vector<unsigned> cpus;  ///< of the initiator's loops; empty: they are not pinned
};

void list_fields(auto& fields, Is<Prepare> auto& prepare) {
  fields("case", prepare.test_case);
  fields("seed", prepare.seed);
  fields("devices", prepare.devices, {.max_size = kMostDevices});
  fields("same_host", prepare.same_host);
  fields("cpus", prepare.cpus, {.max = kMaxCpuNumber, .max_size = kMaxLoopsPlaced});
}

/// The message "ready".
struct Ready {
  Introductions ends;
  std::optional<unsigned> only_cpu;  ///< the only one on which the first loop may run
};

void list_fields(auto& fields, Is<Ready> auto& ready) {
  list_fields(fields, ready.ends);
  fields("only_cpu", ready.only_cpu, {.max = kMaxCpuNumber});
}

/// The message "connect".
struct ConnectMessage {
  Introductions ends;
  Wait wait = Wait::automatic;  ///< what an automatic one has become
};

void list_fields(auto& fields, Is<ConnectMessage> auto& connect) {
  list_fields(fields, connect.ends);
  fields("wait", connect.wait, {.max = static_cast<std::uint64_t>(Wait::event)});
}

/// The message "gate": the step that the sender has reached.
using WindowSyncMessage =
    OneField<"step", WindowBarrier::Step, FieldRule{.max = WindowBarrier::kSteps - 1}>;

/// The message "environment": facts for people, whatever they are.
using EnvironmentMessage = OneField<"environment", Json>;

/// The message "row": see read_row().
using RowMessage = OneField<"row", Json>;

/// The message "examination": see checked_examination().
using ExaminationMessage = OneField<"examination", Json>;

/// The message "finish": how many messages each thread has sent.
using Finish = OneField<"sent", Totals, FieldRule{.max = kMaxMessages}>;

/// The message "done".
struct Done {
  Report forward;
  std::optional<Report> backward;
  PlacementData placement;
  bool shared_responder = false;  ///< has another client's case run meanwhile?
};

void list_fields(auto& fields, Is<Done> auto& done) {
  fields("forward", done.forward);
  fields("backward", done.backward);
  fields("placement", done.placement);
  fields("shared_responder", done.shared_responder);
}

}  // namespace rdmameter
