// SPDX-License-Identifier: Apache-2.0
#include "core/session/repetition.h"

#include <random>

#include "core/base/kernel_files.h"
#include "core/engine/blame/judge.h"
#include "core/session/bandwidth_result.h"
#include "core/session/heartbeat.h"
#include "core/session/loop_thread.h"
#include "core/session/socket_runner.h"
#include "core/session/window_sync.h"
#include "core/wire/channel.h"
#include "core/wire/watcher.h"

namespace rdmameter {
namespace {

std::uint64_t random_seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 21) ^ device();  // below 2^53, for JSON readers of every kind
}

/// Of messages that the receiver counts, some arrived, and all by the end of the warm-up: the
/// window begins with the poll that finds the last of those.
std::string_view why_no_more(std::uint64_t sent, std::uint64_t received) {
  if (received == sent)
    return "the receiver found all the others by the poll that ended the warm-up, so there is no "
           "time to divide by: use more --iterations, or a --duration";
  return "the others were lost on the way, or found no receive: use a greater --rx-depth where "
         "memory allows it, or a smaller --depth or --size";
}

/// Rejects a result of zeros, which would look like the best possible one.
void require_any(const TestCase& test_case, const Outcome& outcome) {
  if (outcome.interrupted && (outcome.operations == 0 || outcome.lost == outcome.operations))
    throw Interrupted("interrupted before anything was measured");
  const std::string_view advice =
      test_case.multicast()
          ? "does the network between the two devices pass multicast (RoCE v2: and UDP port 4791)?"
          : "is the path between the two devices up (RoCE v2: does it let UDP port 4791 through)?";
  if (outcome.lost == outcome.operations)
    throw MeasurementError(
        "none of the {} pings was answered within --loss-timeout: is it shorter than the "
        "round trip? Else {}",
        outcome.operations, advice);
  if (test_case.open_loop() && outcome.operations == 0) throw MeasurementError(kNothingFellDue);
  if (receiver_counts(test_case) && outcome.bandwidth->messages == 0) {
    const std::uint64_t sent = *outcome.bandwidth->sent, received = *outcome.bandwidth->received;
    throw MeasurementError("of {} messages {} arrived, and none after the warm-up of {}: {}", sent,
                           received, test_case.warmup,
                           received == 0 ? advice : why_no_more(sent, received));
  }
}

}  // namespace

/// Two spinning ends on one core answer each other once per time slice; so do more threads than
/// there are cores.
Wait Repetition::choose_wait(const Ready& ready, bool same_host) const {
  if (case_->wait != Wait::automatic) return case_->wait;
  const std::optional<unsigned> mine = placement_.only();
  const bool one_core = same_host && mine && ready.only_cpu == mine;
  const std::uint64_t ours = case_->loops(Role::initiator),
                      all = ours + (same_host ? case_->loops(Role::responder) : 0);
  const std::size_t cores = placement_.allowed.size();
  const bool share = one_core || ours > cores || (all > 2 && all > cores);
  return share ? Wait::yield : Wait::spin;
}

/// Where the two ends fail together the responder may know why.
void Repetition::establish(ConnectedEnd& end) {
  try {
    end.establish();
  } catch (const MeasurementError&) {
    ask_why("running");
    throw;
  }
}

/// All of the traffic, both ways where the responder sends as well. An interrupt ends it before its
/// time, and what was measured until then is kept.
void Repetition::measure(ConnectedEnd& end) {
  const TestCase& test_case = end.test_case;
  const EventFd attention;
  const OrderlyEnd orderly{interrupt_, orderly_end_within(test_case), [&] {
                             const bool begun = end.forward.end_now();
                             tell_end_ = test_case.bidirectional;
                             attention.raise();
                             return begun;
                           }};
  WindowSync windows{channel_, test_case, end.forward, attention};
  std::unique_ptr<LoopThread> receiver;
  if (!end.backward.empty())
    receiver = std::make_unique<LoopThread>(end.backward, test_case.wait, clock_, attention);
  run_traffic(end, receiver.get(), windows, attention);
  interrupted_ = orderly.asked();
  send(make_message("finish", Finish{end.forward.totals()}));
  done_ = expect<Done>("done");
  keep_what_the_case_has(done_.forward, test_case);
  if (!receiver) return;
  if (!done_.backward)
    throw MeasurementError("the peer's message: the key \"backward\" is missing");
  keep_what_the_case_has(*done_.backward, test_case);
  receiver->finish(done_.backward->totals, interrupt_);
}

/// What the initiator sends, with an eye on everything else.
/// @param receiver  the loop that takes what the responder sends; null: it sends nothing
void Repetition::run_traffic(ConnectedEnd& end, LoopThread* receiver, WindowSync& windows,
                             const EventFd& attention) {
  const TestCase& test_case = end.test_case;
  Side& sender = end.forward;
  StopFlag stop;
  Heartbeat heartbeat{channel_, sender, test_case};
  const auto softirq_ns_before = softirq_ns();
  SideResult result;
  const auto receive = [&] {
    Json message = channel_.receive(Deadline::in(kTick));
    if (windows.receive(message)) return true;
    received_ = std::move(message);  // about something else
    return false;
  };
  const auto attend = [&] {
    if (receiver != nullptr && receiver->failed()) return false;
    if (tell_end_.exchange(false)) send(make_message("end_now"));
    windows.publish();
    return true;
  };
  const LoopWatch watch{.every = heartbeat.every(),
                        .tick = [&] { return heartbeat.tick() && !windows.overdue(); },
                        .receive = receive,
                        .attention = attention,
                        .attend = attend,
                        .stopped = [&] { sender.abort_traffic(); }};
  {
    const IntervalThread lines{test_case, [&] { return sender.progress(); }, on_interval_,
                               sender.over_time()};
    const WatchThread watcher{
        [&](const EventFd& ended) { watch_loop(channel_.fd(), interrupt_, stop, watch, ended); }};
    result = sender.run(test_case.wait, clock_, stop);
    window_end_ = std::chrono::steady_clock::now();
  }
  // A loop that is the last to close its window ends at once, maybe before the watcher has told.
  if (result.why == LoopResult::Why::done) windows.publish();
  using Why = LoopResult::Why;
  heartbeat.close(result.why != Why::done && result.why != Why::stopped);
  softirq_ns_ = softirq_ns_since(softirq_ns_before);
  if (test_case.pattern == Pattern::bandwidth) series_ = heartbeat.series().json();
  require_end(result, stop, heartbeat, windows, receiver);
}

/// @throws MeasurementError, Interrupted  why the traffic has not come to its end, from the source
/// that knows most: the device, the peer, a deadline, the loop itself
void Repetition::require_end(const SideResult& end, const StopFlag& stop,
                             const Heartbeat& heartbeat, const WindowSync& windows,
                             LoopThread* receiver) {
  if (!heartbeat.event().empty() && stop.reason() != StopReason::interrupted)
    throw MeasurementError(heartbeat.event());
  switch (stop.reason()) {
    case StopReason::interrupted:
      throw Interrupted("interrupted");
    case StopReason::peer:
      expect("failed");  // throws what the responder says, or how it went away
      break;
    case StopReason::deadline:
      if (windows.overdue())
        throw MeasurementError(
            "the responder's reverse traffic stalled: it fell far behind this end's; is the path "
            "from the responder up?");
      throw MeasurementError(
          "no message got through on {} for {} s: is the peer alive, and the "
          "path between the two devices up?",
          heartbeat.stalled(), heartbeat.patience().count());
    case StopReason::sibling:
      if (receiver != nullptr && receiver->failed()) receiver->join(interrupt_);  // throws why
      break;
    case StopReason::finish:
    case StopReason::none:
      break;
  }
  if (end.why != LoopResult::Why::done) throw MeasurementError(end.text());
}

/// @return payload bytes compared, at both ends and of both directions
/// @throws MeasurementError  what arrived is not what was sent
std::uint64_t Repetition::judge(const ConnectedEnd& end) const {
  const TestCase& test_case = end.test_case;
  std::uint64_t checked_bytes = 0;
  const auto require_clean = [&](const std::optional<Verdict>& found, std::string_view where) {
    if (!found) return;
    const Verdict& verdict = *found;
    checked_bytes += verdict.checked_bytes;
    const bool lost = verdict.missing_bytes != 0 && test_case.reliable();
    if (verdict.wrong_bytes == 0 && verdict.guard_bytes_hit == 0 && !lost) return;
    throw MeasurementError(
        "verification failed at the {}: {}; of {} bytes {} wrong, {} missing, {} beyond a message",
        where, verdict.first_fault, verdict.checked_bytes, verdict.wrong_bytes,
        verdict.missing_bytes, verdict.guard_bytes_hit);
  };
  require_clean(
      end.forward.verify(test_case.returns_data() || test_case.mixed() ? end.forward.totals()
                                                                       : done_.forward.totals),
      "initiator");
  require_clean(done_.forward.verdict, "responder");
  if (end.backward.empty()) return checked_bytes;
  const bool counts = SideTally{end.backward}.has_loop;
  require_clean(end.backward.verify(counts ? end.backward.totals() : done_.backward->totals),
                "initiator");
  require_clean(done_.backward->verdict, "responder");
  return checked_bytes;
}

Outcome Repetition::outcome(ConnectedEnd& end) const {
  const TestCase& test_case = end.test_case;
  Side& sender = end.forward;
  const SideTally tally{sender};
  Outcome outcome;
  outcome.effective = end.case_as_measured();
  outcome.operations = tally.operations;
  outcome.elapsed_ns = tally.elapsed_ns;
  outcome.window_end = window_end_;
  // Without the warm-up's part. Their product has more than 64 bits after some minutes.
  if (tally.total != 0)
    outcome.cpu_ns = static_cast<std::uint64_t>(
        static_cast<double>(tally.cpu_ns) *
        (static_cast<double>(tally.operations) / static_cast<double>(tally.total)));
  outcome.interrupted = interrupted_;
  outcome.extra = sender.facts();
  if (const auto order = outcome.extra.find("data_in_order"); order != outcome.extra.end())
    *order = order->get<bool>() && done_.forward.data_in_order;  // the worse of both ends
  if (const auto& way = done_.forward.gpu_registration)
    outcome.extra["peer_gpu_registration"] = *way;
  if (const auto& path = done_.forward.gpu_pcie_path) outcome.extra["peer_gpu_pcie_path"] = *path;
  if (test_case.pattern == Pattern::bandwidth) {
    const Report sent = report_of(sender, test_case);
    outcome.bandwidth = bandwidth_of(test_case, sent, done_.forward);
    if (end.backward.empty()) {
      outcome.per_device = per_device(test_case, sent, done_.forward, nullptr, nullptr);
    } else {
      const Report received = report_of(end.backward, test_case);
      const BandwidthData backward = bandwidth_of(test_case, *done_.backward, received);
      outcome.per_device = per_device(test_case, sent, done_.forward, &*done_.backward, &received);
      outcome.extra["directions"] = {{"forward", direction_json(*outcome.bandwidth)},
                                     {"backward", direction_json(backward)}};
      // A machine's own in both directions: see DeviceCase::backward().
      if (const std::string& theirs = test_case.responder.memory;
          is_opened(test_case.initiator.memory) || is_opened(theirs))
        outcome.extra["directions"]["backward"]["memory"] = theirs.empty() ? "host" : theirs;
      outcome.bandwidth = both(*outcome.bandwidth, backward);
    }
    outcome.operations = outcome.bandwidth->messages;
    outcome.elapsed_ns = outcome.bandwidth->window_ns;
  } else if (!test_case.reliable()) {
    outcome.lost = tally.lost;
  }
  require_any(test_case, outcome);
  outcome.device_counters = {{"initiator", sender.counters()},
                             {"responder", done_.forward.counters.value_or(nullptr)}};
  outcome.work = {{"wrs", tally.total}, {"polls", tally.polls}};
  if (tally.doorbells != 0) outcome.work["doorbells"] = tally.doorbells;
  if (tally.cqes != 0) outcome.work["cqes"] = tally.cqes;
  outcome.resources = sender.resources();
  outcome.extra["cpu"] = {{"thread_ns", tally.cpu_ns}, {"softirq_ns", nullptr}};
  if (softirq_ns_) outcome.extra["cpu"]["softirq_ns"] = *softirq_ns_;
  outcome.extra["placement"] = {
      {"initiator", placement_json(placement_data(placement_, end.places()))},
      {"responder", placement_json(done_.placement)}};
  if (!series_.is_null()) outcome.extra["series"] = series_;
  if (!done_.forward.arrivals.empty()) outcome.extra["arrivals"] = done_.forward.arrivals;
  if (const std::uint64_t asked = case_->queues.rx_depth; test_case.queues.rx_depth != asked)
    outcome.extra["rx_depth_asked"] = asked;
  if (test_case.verify) outcome.extra["verified_bytes"] = judge(end);
  if (done_.shared_responder) outcome.extra["shared_responder"] = true;
  outcome.load = sender.load();
  if (outcome.load) outcome.per_device = per_device_of_load(test_case, sender);
  outcome.over_time = over_time_of(sender.added_over_time());
  // After a lost ping the answers come over other QPs than the pings.
  const bool apart =
      test_case.pattern == Pattern::ping_pong && test_case.qps > 1 && tally.lost != 0;
  if (const auto figures = sender.per_qp(); !figures.empty() && !apart)
    outcome.per_qp = per_qp_data(figures);
  if (const auto samples = sender.take_latency()) outcome.latency = latency_of(test_case, *samples);
  if (const WatchData* const watched = sender.first().watched(); watched != nullptr)
    outcome.blame =
        judge_late_samples({.samples = outcome.latency->histogram,
                            .late_ns = test_case.late_ns,
                            .warmup = test_case.warmup,
                            .own = *watched,
                            .peer = test_case.answered() ? &done_.forward.watched : nullptr,
                            .open_loop = test_case.open_loop()});
  return outcome;
}

/// All that is made before the traffic, on the CPU of the first loop: so memory of this end, and of
/// the provider, is on that CPU's node. No thread that goes on afterwards begins here.
ConnectedEnd Repetition::prepare(bool same_host) {
  const Pinned pinned = pinned_to_make(placement_, "--core");
  const std::uint64_t seed = random_seed();
  std::vector<GidsOfDevice> gids;
  for (const OpenDevice* device : devices_) gids.push_back({device->gids});
  send(make_message("prepare", Prepare{.test_case = case_to_wire(case_.shared()),
                                       .seed = seed,
                                       .devices = std::move(gids),
                                       .same_host = same_host,
                                       .cpus = placement_.cpus}));
  End made;
  std::exception_ptr mine;
  try {  // both ends create their objects at the same time
    made = make_end(devices_, case_, seed, {&interrupt_, channel_.fd()}, placement_);
  } catch (const std::exception&) {
    mine = std::current_exception();
  }
  const auto ready = expect<Ready>("ready");
  if (mine) std::rethrow_exception(mine);
  ConnectedEnd end = connect_end(std::move(made), case_, ready.ends, choose_wait(ready, same_host));
  send(make_message("connect", ConnectMessage{end.introductions(), end.test_case->wait}));
  establish(end);
  if (on_connected_) on_connected_(end.connected_case(ready.ends));
  expect("running");
  return end;
}

Outcome Repetition::run(bool same_host) {
  return conduct([&] {
    ConnectedEnd end = prepare(same_host);
    measure(end);
    return outcome(end);
  });
}

}  // namespace rdmameter
