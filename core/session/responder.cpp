// SPDX-License-Identifier: Apache-2.0
#include "core/session/responder.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "core/base/error_text.h"
#include "core/doctor/examination.h"
#include "core/engine/case_memory.h"
#include "core/engine/end.h"
#include "core/engine/open_devices.h"
#include "core/engine/placement/placement.h"
#include "core/session/connect_test.h"
#include "core/session/failure.h"
#include "core/session/loop_thread.h"
#include "core/session/messages.h"
#include "core/session/socket_runner.h"
#include "core/session/window_sync.h"
#include "core/verbs/device.h"

namespace rdmameter {
namespace {

/// A case that runs, with what it takes of the server.
class RunningCase {
 public:
  /// @throws as SessionHost::begin_case()
  RunningCase(SessionHost& host, const CaseNeeds& needs) : host_(host) { host_.begin_case(needs); }
  RunningCase(RunningCase&&) = delete;
  ~RunningCase() { host_.end_case(); }

 private:
  SessionHost& host_;
};

/// A session that connects QPs runs no loop.
CaseNeeds needs_of(const TestCase& test_case) {
  return {.memory_bytes = case_memory_bytes(DeviceCase::usual(test_case, Role::responder)),
          .threads = test_case.control() ? 0 : test_case.loops(Role::responder)};
}

std::string case_text(const TestCase& test_case) {
  if (test_case.control()) return fmt::format("connecting over {}", transport_text(test_case));
  return fmt::format("{} {} of {} bytes over {}", traits(test_case.opcode).name,
                     test_case.pattern == Pattern::bandwidth ? "bandwidth"
                     : test_case.open_loop()                 ? "load"
                                                             : "latency",
                     test_case.size_bytes, transport_text(test_case));
}

/// "mlx5_0 port 1, mlx5_1 port 1"
std::string where_of(std::span<OpenDevice* const> devices) {
  std::string text;
  for (const OpenDevice* device : devices)
    text += (text.empty() ? "" : ", ") + device->port.where();
  return text;
}

/// What may come once a case's traffic is over here: it has crossed a "failed" or a "done" of ours.
bool is_of_traffic(std::string_view type) {
  return type == "alive" || type == "gate" || type == "end_now" || type == "finish";
}

class ClientSession {
 public:
  ClientSession(Connection connection, const ClockChoice& clock, const std::optional<OwnEnd>& own,
                bool gpus, SessionHost& host, const InterruptSource& interrupt)
      : clock_(clock),
        own_(own),
        gpus_(gpus),
        host_(host),
        interrupt_(interrupt),
        channel_(std::move(connection), interrupt, kProvedMessageBytes) {}

  void serve(const Greeting& greeting);

 private:
  void send(const Json& message) { channel_.send(message, Deadline::in(kSetupTimeout)); }
  void welcome(const Greeting& greeting);
  void list_ports_for(const Wanted& wanted);
  bool serve_next();
  void serve_case(const Json& message);
  std::vector<OpenDevice*> open_for(const TestCase& test_case,
                                    const std::vector<GidsOfDevice>& peer);
  std::optional<ConnectedEnd> set_up_and_connect(std::span<OpenDevice* const> devices,
                                                 const DeviceCase& test_case, std::uint64_t seed,
                                                 const Placement& placement);
  std::optional<Totals> run(ConnectedEnd& end);
  std::optional<Totals> await_finish(LoopThread& loop, LoopThread* sender, WindowSync& windows,
                                     const EventFd& attention, End& end);

  const ClockChoice& clock_;
  const std::optional<OwnEnd>& own_;
  const bool gpus_;
  SessionHost& host_;
  const InterruptSource& interrupt_;
  Channel channel_;
  std::optional<Json> said_;  ///< received, and not looked at yet
  CpuClaims claims_;
  /// Whatever role this end plays, it opens no file for its client.
  OpenDevices devices_{{.files = FileMemory::none, .gpus = gpus_, .cancel_check = [this] {
                          require_wanted(channel_.fd(), interrupt_);
                        }}};
};

void ClientSession::welcome(const Greeting& greeting) {
  const Wanted wanted = welcome_initiator(
      channel_, greeting, [this](const Wanted& question) { list_ports_for(question); });
  std::vector<OpenDevice*> devices;
  if (wanted.end) devices = devices_.find_each(with_own_end(*wanted.end, own_));
  Json environment = environment_with(clock_, devices);
  if (own_ && !own_->memory.empty()) environment["memory"] = own_->memory;
  send_environment(channel_, environment);
  host_.log(fmt::format("connected, rdmameter {}, served by {}", greeting.initiator_version,
                        devices.empty() ? "no verbs device" : where_of(devices)),
            ClientEvent::connected);
}

void ClientSession::list_ports_for(const Wanted& wanted) {
  if (!wanted.end) throw MeasurementError("the peer's message: the key \"end\" is missing");
  answer_list_ports(channel_, with_own_end(*wanted.end, own_));
}

void ClientSession::serve(const Greeting& greeting) {
  try {
    or_tell(channel_, [&] { welcome(greeting); });
    while (serve_next()) {
    }
    host_.log("gone", ClientEvent::gone);
  } catch (const std::exception& error) {
    host_.log(fmt::format("dropped: {}", error_text(error)), event_of(error));
  }
}

/// @return false when the client has said bye
bool ClientSession::serve_next() {
  const Json message =
      said_ ? *std::exchange(said_, std::nullopt) : channel_.receive(Deadline::in(kIdle));
  const std::string type = type_of(message);
  if (type == "bye") return false;
  if (type == "abandon") {
    send(make_message("abandoned"));
  } else if (type == "prepare") {
    serve_case(message);
  } else if (type == "list_ports") {
    or_tell(channel_, [&] { list_ports_for(read_message<Wanted>(message)); });
  } else if (type == "examine") {
    host_.log("examines this machine");
    const Json examination = examination_json(examine({}, try_devices()));
    send(make_message("examination", ExaminationMessage{examination}));
  } else if (type == "row") {
    host_.show_row(read_message<RowMessage>(message).value);
  } else if (!is_of_traffic(type)) {
    throw MeasurementError("an unknown message: is that an rdmameter of this release?");
  }
  return true;
}

void ClientSession::serve_case(const Json& message) {
  try {
    const auto prepare = read_message<Prepare>(message);
    const TestCase asked = with_own_end(case_from_wire(prepare.test_case), own_);
    if (const std::string why = why_impossible(asked); !why.empty()) throw Unsupported(why);
    const RunningCase running{host_, needs_of(asked)};
    host_.log(case_text(asked));
    const std::vector<OpenDevice*> devices = open_for(asked, prepare.devices);
    const auto avoid =
        prepare.same_host ? std::span<const unsigned>(prepare.cpus) : std::span<const unsigned>();
    const Placement placement =
        place_end(asked, Role::responder, prepare.same_host, avoid, claims_);
    const DeviceCase test_case{asked, devices, Role::responder};
    if (asked.control()) {
      if (!serve_connects(channel_, *devices.front(), test_case, placement, interrupt_))
        send(make_message("abandoned"));
      return;
    }
    std::optional<ConnectedEnd> end =
        set_up_and_connect(devices, test_case, prepare.seed, placement);
    const std::optional<Totals> sent = end ? run(*end) : std::nullopt;
    if (!sent) {
      send(make_message("abandoned"));
      return;
    }
    Done done{.forward = report_for_peer(end->forward, end->test_case, *sent),
              .backward = {},
              .placement = placement_data(placement, end->places()),
              .shared_responder = host_.case_is_shared()};
    if (!end->backward
             .empty())  // its messages come to the initiator, but for those that bring data here
      done.backward = report_for_peer(end->backward, end->test_case, end->backward.totals());
    send(make_message("done", done));
    // Over iWARP a send is complete once TCP has it, and with the QP goes what has not arrived: the
    // connection stays until the initiator, which receives, says something else.
    if (!end->backward.empty() && !devices.empty() && is_iwarp(*devices.front()->context)) {
      do said_ = channel_.receive(Deadline::in(kIdle));
      while (is_of_traffic(type_of(*said_)));
    }
  } catch (const ChannelError&) {
    throw;
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    host_.log(fmt::format("failed: {}", error_text(error)), ClientEvent::case_failed);
    channel_.send(failure_message(error), Deadline::in(kSetupTimeout));
  }
}

/// The devices of a case, which take GIDs that go with those of the initiator's.
/// @param peer  of each of those
/// @return  none of a case over TCP
std::vector<OpenDevice*> ClientSession::open_for(const TestCase& test_case,
                                                 const std::vector<GidsOfDevice>& peer) {
  if (test_case.over_tcp()) return {};
  std::vector<OpenDevice*> devices = devices_.get_each(test_case.responder, true);
  if (devices.size() != test_case.devices() || peer.size() != devices.size())
    throw MeasurementError(
        "the peer's message: a case of {} devices, with {} of the responder's and the GIDs of {}",
        test_case.devices(), devices.size(), peer.size());
  for (std::size_t i = 0; i < devices.size(); ++i) use_gids_of(*devices[i], peer[i].value);
  return devices;
}

/// Makes this end and connects it, on the CPU of its first loop: see Repetition::prepare().
/// @return nothing: the initiator has abandoned the case
std::optional<ConnectedEnd> ClientSession::set_up_and_connect(std::span<OpenDevice* const> devices,
                                                              const DeviceCase& test_case,
                                                              std::uint64_t seed,
                                                              const Placement& placement) {
  const Pinned pinned = pinned_to_make(placement, "--peer-core");
  End made = make_end(devices, test_case, seed, {&interrupt_, channel_.fd()}, placement);
  send(make_message("ready", Ready{made.introductions(), placement.only()}));
  const Json message = channel_.receive(Deadline::in(kSetupTimeout));
  const std::string type = type_of(message);
  if (type == "abandon") return std::nullopt;
  if (type != "connect") throw MeasurementError("expected the message 'connect'");
  const auto connect = read_message<ConnectMessage>(message);
  ConnectedEnd end = connect_end(std::move(made), test_case, connect.ends, connect.wait);
  end.establish();
  end.forward.take_fatal_event();  // events of earlier cases are ignored
  if (host_.shows_connected()) host_.show_connected(end.connected_case(connect.ends));
  return end;
}

/// The traffic, from the first message to the last.
/// @return how many messages each of the initiator's threads sent; nothing: it abandons the case
std::optional<Totals> ClientSession::run(ConnectedEnd& end) {
  const EventFd attention;
  WindowSync windows{channel_, end.test_case, end.backward, attention};
  const auto start = [&](Side& side) {
    return std::make_unique<LoopThread>(side, end.test_case->wait, clock_, attention);
  };
  const auto loop = start(end.forward);
  std::unique_ptr<LoopThread> sender;
  if (!end.backward.empty()) sender = start(end.backward);
  send(make_message("running"));
  std::optional<Totals> sent = await_finish(*loop, sender.get(), windows, attention, end);
  if (!sent) return sent;
  loop->finish(*sent, interrupt_);
  if (sender) sender->join(interrupt_);
  return sent;
}

/// Listens while the loops run.
/// @param sender  the loop of the other direction; null: there is none
/// @throws MeasurementError  a loop failed, or the initiator went away
std::optional<Totals> ClientSession::await_finish(LoopThread& loop, LoopThread* sender,
                                                  WindowSync& windows, const EventFd& attention,
                                                  End& end) {
  Deadline deadline = Deadline::in(kSilence);
  for (;;) {
    const Waited waited = channel_.wait_readable(deadline.within(kEventTick), &attention);
    const bool failed = loop.failed() || (sender != nullptr && sender->failed());
    const std::string event =
        failed ? end.forward.await_fatal_event() : end.forward.take_fatal_event();
    if (!event.empty()) throw MeasurementError(event);
    if (waited == Waited::woken) {
      attention.clear();
      if (sender != nullptr && sender->failed()) sender->join(interrupt_);  // throws why
      if (loop.failed()) {
        loop.finish(Totals(end.forward.endpoints()), interrupt_);  // throws why
        throw MeasurementError("the responder's loop ended too early");
      }
      windows.publish();
      continue;
    }
    if (windows.overdue())
      throw MeasurementError("the initiator's traffic stalled: it fell far behind the responder's");
    if (waited == Waited::deadline && !deadline.passed()) continue;
    const Json message = channel_.receive(deadline);
    deadline = Deadline::in(kSilence);
    const std::string type = type_of(message);
    if (type == "alive" || windows.receive(message)) continue;
    if (type == "abandon") return std::nullopt;
    if (type == "end_now" && !end.backward.empty()) {
      end.backward.end_now();
      continue;
    }
    if (type != "finish") throw MeasurementError("expected the message 'finish'");
    const auto finish = read_message<Finish>(message);
    require_totals_of(finish.value, end.forward.endpoints());
    return finish.value;
  }
}

}  // namespace

ClientEvent event_of(const std::exception& error) {
  const auto* const ended = dynamic_cast<const ChannelError*>(&error);
  return ended != nullptr && ended->hung_up() ? ClientEvent::hung_up : ClientEvent::dropped;
}

void serve_session(Connection connection, const Greeting& greeting, const ClockChoice& clock,
                   const std::optional<OwnEnd>& own, bool gpus, SessionHost& host,
                   const InterruptSource& interrupt) {
  ClientSession{std::move(connection), clock, own, gpus, host, interrupt}.serve(greeting);
}

}  // namespace rdmameter
