// SPDX-License-Identifier: Apache-2.0
#include "core/server/session_pipe.h"

#include <limits>

#include "core/base/error_text.h"
#include "core/base/printable.h"
#include "core/session/failure.h"
#include "core/session/protocol.h"
#include "core/wire/fields.h"

namespace rdmameter {
namespace {

Deadline promptly() {
  return Deadline::in(kSetupTimeout);
}

nlohmann::json clock_to_pipe(const ClockChoice& clock) {
  return {{"counter", clock.kind == ClockChoice::Kind::counter},
          {"multiplier", clock.counter.scale.multiplier},
          {"ticks_per_ns", clock.ticks_per_ns},
          {"error_ppm", clock.error_ppm},
          {"read_ns", clock.read_ns},
          {"reason", clock.reason}};
}

ClockChoice clock_from_pipe(const nlohmann::json& message) {
  ClockChoice clock;
  if (require_bool(message, "counter")) clock.kind = ClockChoice::Kind::counter;
  clock.counter.scale.multiplier = require_uint_as<std::uint64_t>(message, "multiplier", 1);
  clock.ticks_per_ns = message.at("ticks_per_ns").get<double>();
  clock.error_ppm = message.at("error_ppm").get<double>();
  clock.read_ns = message.at("read_ns").get<double>();
  clock.reason = message.at("reason").get<std::string>();
  return clock;
}

nlohmann::json seal_to_pipe(const std::optional<SealKeys>& keys) {
  if (!keys) return nullptr;
  return {{"send", keys->send}, {"receive", keys->receive}};
}

std::optional<SealKeys> seal_from_pipe(const nlohmann::json& message) {
  if (message.is_null()) return std::nullopt;
  return SealKeys{.send = message.at("send").get<SealKey>(),
                  .receive = message.at("receive").get<SealKey>()};
}

nlohmann::json own_to_pipe(const std::optional<OwnEnd>& own) {
  if (!own) return {};
  return {{"device", own->device},       {"port_num", own->port_num},
          {"gid_index", own->gid_index}, {"core", own->core},
          {"memory", own->memory},       {"gpu_registration", own->gpu_registration}};
}

std::optional<OwnEnd> own_from_pipe(const nlohmann::json& message) {
  if (message.is_null()) return std::nullopt;
  return OwnEnd{{.device = message.at("device").get<std::string>(),
                 .port_num = require_uint_as<std::uint64_t>(message, "port_num"),
                 .gid_index = require_uint_as<std::uint64_t>(message, "gid_index"),
                 .core = message.at("core").get<std::string>(),
                 .memory = message.at("memory").get<std::string>()},
                static_cast<GpuRegistration>(
                    require_uint(message, "gpu_registration", 0,
                                 static_cast<std::uint64_t>(GpuRegistration::pointer_first)))};
}

/// A session tells of no end of its own process.
ClientEvent event_from_pipe(const nlohmann::json& message) {
  const auto found = message.find("event");
  constexpr auto kMost = static_cast<std::uint64_t>(ClientEvent::dropped);
  if (found == message.end() || !found->is_number_unsigned() || *found > kMost)
    return ClientEvent::note;
  return static_cast<ClientEvent>(found->get<std::uint64_t>());
}

}  // namespace

nlohmann::json start_to_pipe(const SessionStart& start) {
  return {{"type", "session"},
          {"peer", start.peer},
          {"initiator_version", start.greeting.initiator_version},
          {"welcome_proof", start.greeting.welcome_proof},
          {"seal", seal_to_pipe(start.greeting.seal_keys)},
          {"clock", clock_to_pipe(start.clock)},
          {"sandbox", start.sandbox.mode},
          {"sandbox_allowed", start.sandbox.allowed},
          {"own", own_to_pipe(start.own)},
          {"gpus", start.gpus},
          {"shown", start.shown},
          {"server", start.server}};
}

SessionStart start_from_pipe(const nlohmann::json& message) {
  try {
    return {.peer = message.at("peer").get<std::string>(),
            .greeting = {.initiator_version = message.at("initiator_version").get<std::string>(),
                         .welcome_proof = message.at("welcome_proof").get<std::string>(),
                         .seal_keys = seal_from_pipe(message.at("seal"))},
            .clock = clock_from_pipe(require_object(message, "clock")),
            .sandbox = {.mode = static_cast<Sandboxing>(require_uint(message, "sandbox", 0, 2)),
                        .allowed = message.at("sandbox_allowed").get<std::vector<std::string>>(),
                        .gpus = require_bool(message, "gpus")},
            .own = own_from_pipe(message.at("own")),
            .gpus = require_bool(message, "gpus"),
            .shown = require_bool(message, "shown"),
            .server = static_cast<pid_t>(
                require_uint(message, "server", 1, std::numeric_limits<pid_t>::max()))};
  } catch (const nlohmann::json::exception& error) {
    throw MeasurementError(error_text(error));
  }
}

void answer_session(Channel& pipe, SessionHost& host, Deadline deadline) {
  const nlohmann::json message = pipe.receive(deadline);
  const std::string& type = require_string(message, "type", 32);
  if (type == "log") {
    host.log(message.value("text", nlohmann::json()).is_string()
                 ? message.at("text").get_ref<const std::string&>()
                 : std::string(),
             event_from_pipe(message));
  } else if (type == "end") {
    host.end_case();
  } else if (type == "row") {
    host.show_row(require_object(message, "row"));
  } else if (type == "connected") {
    host.show_connected(require_object(message, "connected"));
  } else if (type == "is_shared") {
    pipe.send({{"type", "shared"}, {"value", host.case_is_shared()}}, deadline);
  } else if (type == "begin") {
    const CaseNeeds needs{.memory_bytes = require_uint_as<std::uint64_t>(message, "memory_bytes"),
                          .threads = require_uint_as<std::uint64_t>(message, "threads")};
    nlohmann::json answer{{"type", "granted"}};
    try {
      host.begin_case(needs);
    } catch (const std::exception& error) {
      answer = failure_message(error);
    }
    pipe.send(answer, deadline);
  } else {
    throw MeasurementError("it sent a message that no session sends");
  }
}

void PipeHost::say(const nlohmann::json& message) {
  const std::lock_guard lock{sending_};
  pipe_.send(message, promptly());
}

nlohmann::json PipeHost::ask(const nlohmann::json& message, std::string_view answer) {
  say(message);
  nlohmann::json said = pipe_.receive(promptly());
  const std::string& type = require_string(said, "type", 32);
  if (type == "failed")
    throw_failure(require_string(said, "kind", 32),
                  require_string(said, "reason", kMaxReasonBytes));
  if (type != answer) throw MeasurementError("the server answered a question that was not asked");
  return said;
}

void PipeHost::log(std::string_view text, ClientEvent event) noexcept {
  try {
    say({{"type", "log"}, {"text", beginning(text, kLogTextBytes)}, {"event", event}});
  } catch (const std::exception&) {  // the server has gone, and with it the log
  }
}

void PipeHost::begin_case(const CaseNeeds& needs) {
  ask({{"type", "begin"}, {"memory_bytes", needs.memory_bytes}, {"threads", needs.threads}},
      "granted");
}

bool PipeHost::case_is_shared() {
  return require_bool(ask({{"type", "is_shared"}}, "shared"), "value");
}

void PipeHost::show_connected(const nlohmann::json& connected) {
  const nlohmann::json message{{"type", "connected"}, {"connected", connected}};
  if (message.dump().size() <= kShownPipeMessageBytes) say(message);
}

void PipeHost::show_row(const nlohmann::json& row) {
  if (shown_) say({{"type", "row"}, {"row", row}});
}

void PipeHost::end_case() noexcept {
  try {
    say({{"type", "end"}});
  } catch (const std::exception&) {  // the server has gone
  }
}

}  // namespace rdmameter
