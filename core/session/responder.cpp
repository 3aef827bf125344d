// SPDX-License-Identifier: Apache-2.0
#include "core/session/responder.h"

#include <fmt/format.h>

#include <array>
#include <optional>

#include "core/affinity.h"
#include "core/open_devices.h"
#include "core/session/connect_test.h"
#include "core/session/failure.h"
#include "core/session/fields.h"
#include "core/session/gate_keeper.h"
#include "core/session/handshake.h"
#include "core/session/loop_thread.h"
#include "core/session/protocol.h"
#include "core/session/report.h"
#include "core/session/socket_side.h"
#include "core/sides.h"

namespace rdmameter {
namespace {

/// Counts the cases that run at the same time, for the length of one.
class Running {
 public:
  explicit Running(ResponderShared& shared) : shared_(shared), alone_(++shared.cases_running == 1) {
    started_ = ++shared.cases_started;
  }
  ~Running() { --shared_.cases_running; }
  /// Has another case run beside this one at any time?
  bool shared() const { return !alone_ || shared_.cases_started != started_; }

 private:
  ResponderShared& shared_;
  bool alone_;
  std::uint64_t started_ = 0;
};

/// What a case takes of the server's memory, for its length.
class Reserved {
 public:
  /// @throws Unsupported       it would not fit if it were alone
  /// @throws MeasurementError  it does not fit beside the others
  Reserved(ResponderShared& shared, std::uint64_t bytes) : shared_(shared), bytes_(bytes) {
    constexpr double kMib = 1 << 20;
    const auto most = static_cast<double>(shared.most_memory_bytes) / kMib;
    if (bytes > shared.most_memory_bytes)
      throw Unsupported(
          fmt::format("buffers and queues of {:.1f} MiB, while the server gives its clients {:.1f} "
                      "MiB: use a smaller --size, --qps, --depth or --rx-depth, or `rdmameter "
                      "serve --max-memory` there",
                      static_cast<double>(bytes) / kMib, most));
    if (const std::uint64_t others = shared.memory_bytes.fetch_add(bytes);
        others + bytes > shared.most_memory_bytes) {
      shared.memory_bytes -= bytes;
      throw MeasurementError(fmt::format(
          "buffers and queues of {:.1f} MiB beside the {:.1f} MiB of other clients, while the "
          "server gives {:.1f} MiB in all: try again later, or `rdmameter serve --max-memory` "
          "there",
          static_cast<double>(bytes) / kMib, static_cast<double>(others) / kMib, most));
    }
  }
  Reserved(Reserved&&) = delete;
  ~Reserved() { shared_.memory_bytes -= bytes_; }

 private:
  ResponderShared& shared_;
  const std::uint64_t bytes_;
};

std::string case_text(const Case& one_case) {
  if (one_case.control()) return fmt::format("connecting over {}", transport_text(one_case));
  constexpr std::array kOpcodes{"send",      "write",    "read",     "send_imm",  "write_imm",
                                "fetch_add", "cmp_swap", "tcp_send", "mcast_send"};
  return fmt::format("{} {} of {} bytes over {}", kOpcodes.at(one_case.opcode),
                     one_case.shape() == Pattern::bandwidth ? "bandwidth" : "latency",
                     one_case.size_bytes, transport_text(one_case));
}

class ClientSession {
 public:
  ClientSession(Connection connection, ResponderShared& shared, const InterruptSource& interrupt,
                Admission& admission)
      : shared_(shared),
        interrupt_(interrupt),
        admission_(admission),
        channel_(std::move(connection), interrupt) {}

  void serve();

 private:
  void log(const std::string& text) { shared_.log(fmt::format("{}: {}", channel_.peer(), text)); }
  void say(nlohmann::json message, const char* type) {
    message["type"] = type;
    channel_.send(message, Deadline::in(kSetupTimeout));
  }
  void greet();
  bool serve_next();
  void serve_case(const nlohmann::json& prepare);
  OpenDevice& device_of(const Case& one_case) {
    return devices_.get(one_case.peer_device, one_case.peer_port_num, one_case.peer_gid_index);
  }
  Sides make_sides(const Case& one_case, std::uint64_t seed);
  bool connect(Sides& sides, Case& one_case);
  std::optional<Totals> run(Sides& sides, const Case& one_case);
  std::optional<Totals> await_finish(LoopThread& loop, LoopThread* sender, GateKeeper& gate,
                                     const Wake& attention, Sides& sides, std::uint64_t threads);

  ResponderShared& shared_;
  const InterruptSource& interrupt_;
  Admission& admission_;
  Channel channel_;
  OpenDevices devices_;
};

void ClientSession::greet() {
  const Deadline deadline = Deadline::in(kProofTimeout);
  if (channel_.wait_readable(deadline) == Waited::ready) admission_.spoken();
  const Greeting greeting = greet_initiator(channel_, shared_.token, deadline);
  admission_.enter(channel_);
  const OpenDevice* const device =
      devices_.find(require_string(greeting.wanted, "device", 64),
                    require_uint_as<std::uint64_t>(greeting.wanted, "port_num"),
                    require_uint_as<std::uint64_t>(greeting.wanted, "gid_index"));
  send_welcome(channel_, greeting, environment_with(shared_.clock, device));
  log(fmt::format("connected, rdmameter {}, served by {}", greeting.initiator_version,
                  device != nullptr ? device->port.where() : "no verbs device"));
}

void ClientSession::serve() {
  try {
    try {
      greet();
    } catch (const ChannelError&) {
      throw;
    } catch (const std::exception& error) {
      channel_.send(failure_message(error), Deadline::in(kProofTimeout));
      throw;
    }
    while (serve_next()) {
    }
    log("gone");
  } catch (const std::exception& error) {
    log(fmt::format("dropped: {}", error.what()));
  }
}

/// @return false when the client has said bye
bool ClientSession::serve_next() {
  const nlohmann::json message = channel_.receive(Deadline::in(kIdle));
  const std::string& type = require_string(message, "type", 32);
  if (type == "bye") return false;
  if (type == "abandon") {
    say({}, "abandoned");
  } else if (type == "prepare") {
    serve_case(message);
  } else if (type != "alive" &&
             type != "finish") {  // those two may have crossed a "failed" of ours
    throw MeasurementError("an unknown message: is that an rdmameter of this release?");
  }
  return true;
}

void ClientSession::serve_case(const nlohmann::json& prepare) {
  try {
    Case one_case = case_from_wire(require_object(prepare, "case"));
    const std::uint64_t seed = require_uint_as<std::uint64_t>(prepare, "seed");
    if (const std::string why = why_impossible(one_case); !why.empty()) throw Unsupported(why);
    const Reserved reserved{shared_, case_memory_bytes(one_case, Role::responder)};
    const Running running{shared_};
    log(case_text(one_case));
    if (one_case.control()) {
      if (!serve_connects(channel_, device_of(one_case), one_case, interrupt_))
        say({}, "abandoned");
      return;
    }
    Sides sides = make_sides(one_case, seed);
    const auto cpu = one_case.peer_core == kAuto ? only_cpu() : std::optional{one_case.peer_core};
    nlohmann::json ready = sides.introduction();
    ready["only_cpu"] = cpu ? nlohmann::json(*cpu) : nlohmann::json();
    say(std::move(ready), "ready");
    if (!connect(sides, one_case)) return;
    const std::optional<Totals> sent = run(sides, one_case);
    if (!sent) {
      say({}, "abandoned");
      return;
    }
    nlohmann::json done = report_to_wire(*sides.forward, one_case, *sent);
    if (sides.backward) {
      // Its messages come to the initiator, but for those that bring data here.
      done["backward"] = report_to_wire(*sides.backward, one_case, sides.backward->totals());
    }
    done["shared_responder"] = running.shared();
    say(done, "done");
  } catch (const ChannelError&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    log(fmt::format("failed: {}", error.what()));
    channel_.send(failure_message(error), Deadline::in(kSetupTimeout));
  }
}

Sides ClientSession::make_sides(const Case& one_case, std::uint64_t seed) {
  if (one_case.over_tcp())
    return {
        std::make_unique<SocketSide>(channel_.fd(), interrupt_, one_case, Role::responder, seed),
        nullptr};
  return make_verbs_sides(device_of(one_case), one_case, Role::responder, seed,
                          {&interrupt_, channel_.fd()});
}

/// Takes the initiator's introduction and connects to it.
/// @return false when the initiator has abandoned the case
bool ClientSession::connect(Sides& sides, Case& one_case) {
  const nlohmann::json message = channel_.receive(Deadline::in(kSetupTimeout));
  const std::string& type = require_string(message, "type", 32);
  if (type == "abandon") {
    say({}, "abandoned");
    return false;
  }
  if (type != "connect") throw MeasurementError("expected the message 'connect'");
  one_case.wait = require_uint(message, "wait", static_cast<std::uint64_t>(Wait::spin),
                               static_cast<std::uint64_t>(Wait::event));
  sides.connect(message);
  sides.establish();
  sides.forward->take_fatal_event();  // nobody's any more
  return true;
}

/// The traffic, from the first message to the last.
/// @return how many messages each of the initiator's threads sent; nothing: it abandons the case
std::optional<Totals> ClientSession::run(Sides& sides, const Case& one_case) {
  const Wake attention;
  GateKeeper gate{channel_, one_case, sides.backward.get(), attention};
  const auto start = [&](Side& side, std::uint64_t core) {
    return std::make_unique<LoopThread>(side, one_case.waiting(), core, shared_.clock, attention);
  };
  const auto loop = start(*sides.forward, one_case.peer_core);
  std::unique_ptr<LoopThread> sender;
  if (sides.backward)
    sender = start(*sides.backward, core_after(one_case.peer_core, one_case.threads));
  say({}, "running");
  std::optional<Totals> sent =
      await_finish(*loop, sender.get(), gate, attention, sides, one_case.threads);
  if (!sent) return sent;
  loop->finish(*sent, interrupt_);
  if (sender) sender->join(interrupt_);
  return sent;
}

/// Listens while the loops run.
/// @param sender  the loop of the other direction; null: there is none
/// @throws MeasurementError  a loop failed, or the initiator went away
std::optional<Totals> ClientSession::await_finish(LoopThread& loop, LoopThread* sender,
                                                  GateKeeper& gate, const Wake& attention,
                                                  Sides& sides, std::uint64_t threads) {
  Side& side = *sides.forward;
  Deadline deadline = Deadline::in(kSilence);
  for (;;) {
    const Waited waited = channel_.wait_readable(deadline.within(kEventTick), &attention);
    const std::string event = side.take_fatal_event();
    if (!event.empty()) throw MeasurementError(fmt::format("{} reports {}", side.where(), event));
    if (waited == Waited::woken) {
      attention.clear();
      if (sender != nullptr && sender->failed()) sender->join(interrupt_);  // throws why
      if (loop.failed()) {
        loop.finish(Totals(threads), interrupt_);  // throws why
        throw MeasurementError("the responder's loop ended before its time");
      }
      gate.pass_on();
      continue;
    }
    if (gate.overdue())
      throw MeasurementError(
          "the initiator's messages do not keep pace with the responder's by far");
    if (waited == Waited::deadline && !deadline.passed()) continue;
    const nlohmann::json message = channel_.receive(deadline);
    deadline = Deadline::in(kSilence);
    const std::string& type = require_string(message, "type", 32);
    if (type == "alive" || gate.hear(message)) continue;
    if (type == "abandon") return std::nullopt;
    if (type != "finish") throw MeasurementError("expected the message 'finish'");
    return totals_from_wire(message, "sent", threads);
  }
}

}  // namespace

void serve_client(Connection connection, ResponderShared& shared, const InterruptSource& interrupt,
                  Admission& admission) {
  ClientSession{std::move(connection), shared, interrupt, admission}.serve();
}

}  // namespace rdmameter
