// SPDX-License-Identifier: Apache-2.0
#include "core/session/responder.h"

#include <fmt/format.h>

#include <array>
#include <optional>
#include <thread>

#include "core/affinity.h"
#include "core/open_devices.h"
#include "core/session/failure.h"
#include "core/session/fields.h"
#include "core/session/handshake.h"
#include "core/session/protocol.h"
#include "core/session/socket_side.h"
#include "core/verbs_side.h"

namespace rdmameter {
namespace {

/// The measuring thread of a case: it runs the responder's loop while the session's thread listens.
class LoopThread {
 public:
  LoopThread(Side& side, const Case& one_case, const ClockChoice& clock) : side_(side) {
    fill_plan(plan_, one_case);
    thread_ = std::thread([this, one_case, clock] {
      try {
        end_ = side_.run(plan_, one_case.waiting(), one_case.peer_core, clock, stop_);
      } catch (const std::exception&) {
        error_ = std::current_exception();
      }
      if (error_ || end_.why != LoopEnd::Why::done) failed_.raise();
      ended_.raise();
    });
  }
  LoopThread(LoopThread&&) = delete;
  ~LoopThread() {
    if (!thread_.joinable()) return;
    stop_.request(StopReason::peer);
    side_.silence();
    thread_.join();
  }

  /// Everything is sent: take it and end.
  /// @throws MeasurementError  what made the loop fail, or that it never ends: a peer may go on
  ///                           sending
  /// @throws Interrupted
  void finish(std::uint64_t sent, const InterruptSource& interrupt) {
    plan_.expected.store(sent, std::memory_order_release);
    stop_.request(StopReason::finish);
    const Waited waited = wait_for(-1, 0, Deadline::in(kSilence), interrupt, &ended_);
    if (waited == Waited::interrupted) throw Interrupted("the server ends");
    if (waited != Waited::woken)
      throw MeasurementError("messages went on arriving after the initiator had sent everything");
    thread_.join();
    if (error_) std::rethrow_exception(error_);
    if (end_.why != LoopEnd::Why::done && end_.why != LoopEnd::Why::stopped)
      throw MeasurementError(loop_end_text(end_, side_.where()));
  }

  /// Raised when the loop ends before its time.
  const Wake& failed() const { return failed_; }

 private:
  Side& side_;
  LoopPlan plan_;
  StopWord stop_;
  Wake failed_, ended_;
  LoopEnd end_;
  std::exception_ptr error_;
  std::thread thread_;  ///< last: it uses all of the above
};

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
  constexpr std::array kOpcodes{"send",      "write",     "read",     "send_imm",
                                "write_imm", "fetch_add", "cmp_swap", "tcp_send"};
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
  std::unique_ptr<Side> make_side(const Case& one_case, std::uint64_t seed);
  bool connect(Side& side, Case& one_case);
  std::optional<std::uint64_t> await_finish(LoopThread& loop, Side& side);
  nlohmann::json report(const Side& side, const Case& one_case, std::uint64_t sent) const;

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
    const std::unique_ptr<Side> made = make_side(one_case, seed);
    Side& side = *made;
    const auto cpu = one_case.peer_core == kAuto ? only_cpu() : std::optional{one_case.peer_core};
    nlohmann::json ready = side.introduction();
    ready["only_cpu"] = cpu ? nlohmann::json(*cpu) : nlohmann::json();
    say(std::move(ready), "ready");
    if (!connect(side, one_case)) return;
    side.take_fatal_event();  // nobody's any more
    LoopThread loop{side, one_case, shared_.clock};
    say({}, "running");
    const std::optional<std::uint64_t> sent = await_finish(loop, side);
    if (!sent) {
      say({}, "abandoned");
      return;
    }
    loop.finish(*sent, interrupt_);
    nlohmann::json done = report(side, one_case, *sent);
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

std::unique_ptr<Side> ClientSession::make_side(const Case& one_case, std::uint64_t seed) {
  if (one_case.over_tcp())
    return std::make_unique<SocketSide>(channel_.fd(), interrupt_, one_case, Role::responder, seed);
  OpenDevice& device =
      devices_.get(one_case.peer_device, one_case.peer_port_num, one_case.peer_gid_index);
  return std::make_unique<VerbsSide>(device, one_case, Role::responder, seed);
}

/// Takes the initiator's introduction and connects to it.
/// @return false when the initiator has abandoned the case
bool ClientSession::connect(Side& side, Case& one_case) {
  const nlohmann::json message = channel_.receive(Deadline::in(kSetupTimeout));
  const std::string& type = require_string(message, "type", 32);
  if (type == "abandon") {
    say({}, "abandoned");
    return false;
  }
  if (type != "connect") throw MeasurementError("expected the message 'connect'");
  one_case.wait = require_uint(message, "wait", static_cast<std::uint64_t>(Wait::spin),
                               static_cast<std::uint64_t>(Wait::event));
  side.connect(message);
  return true;
}

/// Listens while the loop runs.
/// @return how many messages were sent; nothing when the initiator abandons the case
/// @throws MeasurementError  the loop failed, or the initiator went away
std::optional<std::uint64_t> ClientSession::await_finish(LoopThread& loop, Side& side) {
  Deadline deadline = Deadline::in(kSilence);
  for (;;) {
    const Waited waited = channel_.wait_readable(deadline.within(kEventTick), &loop.failed());
    const std::string event = side.take_fatal_event();
    if (!event.empty()) throw MeasurementError(fmt::format("{} reports {}", side.where(), event));
    if (waited == Waited::woken) {
      loop.finish(0, interrupt_);  // throws what made it fail
      throw MeasurementError("the responder's loop ended before its time");
    }
    if (waited == Waited::deadline && !deadline.passed()) continue;
    const nlohmann::json message = channel_.receive(deadline);
    deadline = Deadline::in(kSilence);
    const std::string& type = require_string(message, "type", 32);
    if (type == "alive") continue;
    if (type == "abandon") return std::nullopt;
    if (type != "finish") throw MeasurementError("expected the message 'finish'");
    return require_uint(message, "sent", 0, 1ULL << 53);
  }
}

nlohmann::json ClientSession::report(const Side& side, const Case& one_case,
                                     std::uint64_t sent) const {
  const LoopTally& tally = side.tally();
  nlohmann::json done = {{"operations", tally.operations},
                         {"elapsed_ns", tally.elapsed_ns},
                         {"total", tally.total},
                         {"counters", side.counters()}};
  if (one_case.verify == 0) return done;
  const std::uint64_t arrived = side.has_loop() ? tally.total : sent;
  if (const auto verdict = side.verify(arrived))
    done["verdict"] = {{"checked_bytes", verdict->checked_bytes},
                       {"missing_bytes", verdict->missing_bytes},
                       {"wrong_bytes", verdict->wrong_bytes},
                       {"guard_bytes_hit", verdict->guard_bytes_hit},
                       {"first_fault", verdict->first_fault}};
  return done;
}

}  // namespace

void serve_client(Connection connection, ResponderShared& shared, const InterruptSource& interrupt,
                  Admission& admission) {
  ClientSession{std::move(connection), shared, interrupt, admission}.serve();
}

}  // namespace rdmameter
