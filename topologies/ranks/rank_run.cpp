// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/rank_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/engine/endpoint_runner.h"
#include "topologies/ranks/rank_collective.h"
#include "topologies/ranks/watchdog.h"

namespace rdmameter {
namespace {

/// Each is a sample of every rank, and where ranks share cores takes all of their turns.
std::uint64_t timed_barriers(std::uint64_t ranks) {
  constexpr std::uint64_t kSamples = 1600, kMost = 100, kLeast = 20;
  return std::clamp(kSamples / ranks, kLeast, kMost);
}

/// The time that a pair has. While it lives, late() is requested once that is over.
class PairLimit {
 public:
  /// @param stop  of the whole run: it ends a pair without a time limit
  PairLimit(Watchdog* watchdog, std::chrono::milliseconds limit, const StopFlag& stop)
      : watchdog_(watchdog), stop_(stop) {
    if (watchdog_ != nullptr) watchdog_->limit(late_, limit);
  }
  ~PairLimit() {
    if (watchdog_ != nullptr) watchdog_->lift_limit();
  }
  PairLimit(PairLimit&&) = delete;

  const StopFlag& late() const { return watchdog_ != nullptr ? late_ : stop_; }

 private:
  Watchdog* const watchdog_;
  const StopFlag& stop_;
  StopFlag late_;
};

}  // namespace

/// @param until  what the loop looked at
void RankRun::check(const StopFlag& until) {
  const LoopResult& end = node.relay().end;
  switch (until.reason()) {
    case StopReason::interrupted:
      throw Interrupted("interrupted");
    case StopReason::deadline:
      if (&until == &stop) throw MeasurementError(kOutOfPatience);
      throw MeasurementError("the pair took longer than half of --patience");
    case StopReason::none:
    case StopReason::finish:
    case StopReason::peer:
    case StopReason::sibling:
      break;
  }
  if (end.why == LoopResult::Why::done) return;
  throw MeasurementError(loop_result_text(end, node.qp_text(end.qp_num)));
}

/// Of a barrier that this rank has arrived at, when nothing of the graph can be relayed any more.
void RankRun::await_barrier() {
  while (!barrier.passed() && barrier.end.why == LoopResult::Why::done && !stop.requested())
    loops.wait(barrier.cq);
  node.relay().end = barrier.end;
  check();
}

/// Waits until the others have this rank's part of the last barrier: who destroys its QPs before
/// that leaves them waiting.
void RankRun::retire_barrier() {
  ibv_wc wc;
  while (barrier.unretired != 0 && !stop.requested()) {
    const int polled = ibv_poll_cq(barrier.cq, 1, &wc);
    if (polled == 0) {
      loops.wait(barrier.cq);
      continue;
    }
    if (!good(polled, wc)) {
      node.relay().end = barrier.end = no_completion(polled, wc);
      break;
    }
    --barrier.unretired;
  }
  check();
}

void RankRun::run(RankResult& result) {
  measure_barrier(result);
  const std::uint64_t cpu_before = thread_cpu_ns();
  switch (plan.traffic_mode()) {
    case TrafficMode::round_trip:
      measure_round_trips(result);
      break;
    case TrafficMode::exchange:
    case TrafficMode::spread:
      measure_exchanges(result);
      break;
    case TrafficMode::stream:
    case TrafficMode::drawn:
      if (plan.in_rounds())
        measure_pair_streams(result);
      else
        measure_stream(result);
      break;
    case TrafficMode::collective:
      measure_collectives(result);
      break;
  }
  result.cpu_ns = thread_cpu_ns() - cpu_before;
  retire_barrier();
  const Relay& relay = node.relay();
  result.operations = tally.operations;
  result.lost = tally.lost;
  result.wrs = node.sent() + relay.credits;
  result.cqes = relay.cqes;
  result.polls = relay.polls;
  result.doorbells = relay.lists + relay.credits;
  result.passed_on = node.passed_on();
  result.checked_bytes = relay.checked_bytes;
  if (relay.wrong_bytes > 0 && node.collective() != nullptr)
    throw MeasurementError(fmt::format("{} bytes of the collectives' {} are not what they must be",
                                       relay.wrong_bytes, relay.checked_bytes));
  if (relay.wrong_bytes > 0)
    throw MeasurementError(
        fmt::format("--verify: {} bytes of {} are not as they were sent; the first of them are of "
                    "a message from rank {}",
                    relay.wrong_bytes, relay.checked_bytes, relay.wrong_from));
}

void RankRun::measure_barrier(RankResult& result) {
  begin_samples();
  loops.time_barriers(node.work(), timed_barriers(test_case.ranks), clock, stop, tally);
  check();
  result.samples.barrier = snapshot(*samples_);
}

/// Late messages come back to their sender before it answers others again.
void RankRun::pass_round_trip_barriers() {
  pass_barrier();
  if (loss_ns_ == 0) return;
  node.deliver_round_trips(false);
  pass_barrier();
}

/// One round trip at a time. Ranks at the barrier answer and relay meanwhile; the initiator arrives
/// there when it is done.
void RankRun::measure_round_trips(RankResult& result) {
  result.matrix_row_ns.resize(plan.graph.ranks());
  node.deliver_round_trips(false);
  pass_barrier();
  if (!mine.pair_turns.empty()) return measure_pairs(result);
  for (const std::vector<Rank>& stops : plan.round_trips) {
    if (stops.front() == rank) measure_round_trip(stops, stop, result);
    pass_round_trip_barriers();
  }
}

/// All pairs of a round at once: one rank of each begins, then the other one. It ends for all ranks
/// where one of them has raised the alarm: QPs of the graph are of no use any more.
void RankRun::measure_pairs(RankResult& result) {
  for (std::uint64_t half = attempt.half_round; half < 2 * mine.pair_turns.size(); ++half) {
    const auto& [partner, first] = mine.pair_turns[half / 2];
    const bool begins = first == (half % 2 == 0);
    if (partner != rank && begins && !holds(attempt.lost, rank, partner))
      measure_pair(partner, result);
    meet_after_pair(partner, result);
    result.half_rounds = half + 1;
    if (barrier.alarmed()) return;
    deliver_late_round_trips();
  }
}

void RankRun::measure_pair(Rank partner, RankResult& result) {
  const PairLimit limit(watchdog, pair_limit, stop);
  try {
    measure_round_trip({rank, partner, rank}, limit.late(), result);
    if (result.matrix_row_ns[partner] == 0)
      lose_pair(partner, "no message came back", false, result);
  } catch (const MeasurementError& error) {
    lose_pair(partner, error.what(), limit.late().requested(), result);
    barrier.alarm = true;
  }
}

void RankRun::lose_pair(Rank partner, const std::string& reason, bool waited, RankResult& result) {
  result.lost_pairs.push_back({.with = partner, .reason = reason, .waited = waited});
}

/// A pair that fails keeps no rank from the barrier. A rank that finds a QP of the graph unusable
/// relays no more: no other pair of this round needs it.
void RankRun::meet_after_pair(Rank partner, RankResult& result) {
  Relay& relay = node.relay();
  if (relay.end.why != LoopResult::Why::done) {
    barrier.arrive();
    await_barrier();
  } else {
    loops.serve(node.work(), stop, tally);
    if (stop.requested() || barrier.end.why != LoopResult::Why::done) check();
    if (relay.end.why != LoopResult::Why::done) {
      const std::string reason = loop_result_text(relay.end, node.qp_text(relay.end.qp_num));
      if (partner != rank) lose_pair(partner, reason, false, result);
      barrier.alarm = true;
      await_barrier();
    }
  }
}

/// As measure_pairs(), but one rank of a pair streams to the other. All pairs of a round end their
/// warm-up together.
void RankRun::measure_pair_streams(RankResult& result) {
  const Relay& relay = node.relay();
  const bool written = test_case.rank_opcode == RankOpcode::write && test_case.verify;
  std::vector<Rank> writers;
  result.matrix_row_ns.resize(plan.graph.ranks());
  if (test_case.rank_opcode == RankOpcode::send) result.matrix_column_ns.resize(plan.graph.ranks());
  result.half_rounds = attempt.half_round;
  std::uint64_t before = relay.arrived;  // nothing is under way to this rank
  const auto meet = [&](Rank partner) {
    before = relay.arrived;
    meet_after_pair(partner, result);
    return !barrier.alarmed();
  };
  pass_barrier();
  for (std::uint64_t half = attempt.half_round; half < 2 * mine.pair_turns.size(); ++half) {
    const auto& [partner, first] = mine.pair_turns[half / 2];
    const bool taken = partner != rank && !holds(attempt.lost, rank, partner);
    const bool sends = first == (half % 2 == 0);
    if (taken) stream_with(partner, sends, before, test_case.warmup, result);
    if (!meet(partner)) return;
    if (taken && stream_with(partner, sends, before, test_case.iterations, result))
      add_pair_stream(partner, sends, before, result);
    const bool all_well = meet(partner);
    result.half_rounds = half + 1;
    if (!all_well) return;
    if (taken && !sends && written) writers.push_back(partner);
  }
  if (written) node.check_places(writers);
}

/// So many messages from one rank of a pair to the other.
/// @param partner  borrowed: of the plan
/// @param before  messages that had come here before any of these was sent
/// @return        false: the pair is lost, and the next barrier raises the alarm
bool RankRun::stream_with(const Rank& partner, bool sends, std::uint64_t before,
                          std::uint64_t messages, RankResult& result) {
  RankWork& work = node.work();
  work.partners = &partner;
  work.partner_count = sends ? 1 : 0;
  // What is written or read is counted by the rank that wrote or read it.
  const bool awaits = !sends && test_case.rank_opcode == RankOpcode::send;
  work.expected = awaits ? before + messages : 0;
  const PairLimit limit(watchdog, pair_limit, stop);
  try {
    const std::uint64_t operations = tally.operations;
    loops.stream(work, messages, loss_ns_, clock, limit.late(), tally);
    tally.operations = operations;  // add_pair_stream() counts
    check(limit.late());
    return true;
  } catch (const MeasurementError& error) {
    lose_pair(partner, error.what(), limit.late().requested(), result);
    barrier.alarm = true;
    return false;
  }
}

/// What this rank knows of the stream that has just ended.
void RankRun::add_pair_stream(Rank partner, bool sends, std::uint64_t before, RankResult& result) {
  const bool arrives = test_case.rank_opcode == RankOpcode::send;
  if (sends) {
    result.sent += test_case.iterations;
    result.sending_ns += tally.sending_ns;
    result.matrix_row_ns[partner] =
        static_cast<double>(tally.sending_ns) / static_cast<double>(test_case.iterations);
    if (test_case.rank_opcode == RankOpcode::read && test_case.verify) node.check_places({});
  }
  if (sends == arrives) return;  // the other one counts
  const std::uint64_t arrived = arrives
                                    ? std::min(node.relay().arrived - before, test_case.iterations)
                                    : test_case.iterations;
  if (arrived == 0) return lose_pair(partner, "no message came", false, result);
  tally.operations += arrived;
  result.arrived += arrived;
  if (arrives)
    result.matrix_column_ns[partner] =
        static_cast<double>(tally.elapsed_ns) / static_cast<double>(arrived);
}

void RankRun::deliver_late_round_trips() {
  if (loss_ns_ == 0) return;
  node.deliver_round_trips(false);
  pass_barrier();
}

/// The samples of round trips that begin here.
HistogramData RankRun::time_round_trip(const std::vector<Rank>& stops, const StopFlag& until) {
  node.begin_round_trip_to(stops[1]);
  node.deliver_round_trips(true);
  const std::uint64_t lost_before = tally.lost, operations_before = tally.operations;
  loops.round_trip(node.work(), test_case.warmup, loss_ns_, clock, until, tally);
  check(until);
  tally.lost = lost_before;
  tally.operations = operations_before;
  begin_samples();
  loops.round_trip(node.work(), test_case.iterations, loss_ns_, clock, until, tally);
  check(until);
  if (loss_ns_ == 0) node.deliver_round_trips(false);
  return snapshot(*samples_);
}

void RankRun::measure_round_trip(const std::vector<Rank>& stops, const StopFlag& until,
                                 RankResult& result) {
  const HistogramData samples = time_round_trip(stops, until);
  const bool pair = stops.size() == 3;
  std::uint64_t hops = mine.hops[stops[1]];
  if (!pair) {
    hops = 0;
    for (std::size_t i = 1; i < stops.size(); ++i)
      hops += tree_from(plan.graph, stops[i - 1]).hops[stops[i]];
  }
  if (pair && samples.count > 0)
    result.matrix_row_ns[stops[1]] = static_cast<double>(percentile(samples, 50)) / 2;
  merge(result.samples.by_hops[hops], samples);
}

std::vector<double> RankRun::run_again(const std::vector<RoundTripStops>& trips) {
  std::vector<double> medians_ns;
  std::vector<std::uint32_t> next(plan.graph.ranks());
  node.deliver_round_trips(false);
  for (const RoundTripStops& stops : trips) {
    for (std::size_t i = 1; i + 1 < stops.size(); ++i)
      if (stops[i] == rank) next[stops[i - 1]] = stops[i + 1];
    node.reply_to(next);
    pass_barrier();
    HistogramData samples;
    if (stops.front() == rank) samples = time_round_trip(stops, stop);
    medians_ns.push_back(samples.count == 0 ? 0 : static_cast<double>(percentile(samples, 50)));
    pass_barrier();
  }
  retire_barrier();
  node.reply_to(mine.reply_to);
  return medians_ns;
}

std::uint64_t RankRun::messages_of_exchange() const {
  std::uint64_t messages = 0;
  for (const Round& round : mine.rounds) messages += round.to.size();
  return messages;
}

void RankRun::measure_exchanges(RankResult& result) {
  pass_barrier();
  loops.exchange(node.work(), test_case.warmup, loss_ns_, clock, stop, tally);
  check();
  pass_barrier();
  begin_samples();
  tally.operations = tally.lost = 0;
  loops.exchange(node.work(), test_case.iterations, loss_ns_, clock, stop, tally);
  check();
  result.elapsed_ns = tally.elapsed_ns;
  result.sending_ns = tally.sending_ns;
  result.samples.exchanges = snapshot(*samples_);
  result.sent = test_case.iterations * messages_of_exchange();
  std::uint64_t expected = 0;
  for (const Round& round : mine.rounds) expected += round.from.size();
  result.arrived = test_case.iterations * expected - tally.lost;
  pass_barrier();
  const std::uint64_t all = (test_case.warmup + test_case.iterations) * expected;
  if (loss_ns_ == 0 && node.relay().arrived != all)
    throw MeasurementError(
        fmt::format("{} messages arrived, and {} were sent here", node.relay().arrived, all));
}

void RankRun::measure_stream(RankResult& result) {
  RankWork& work = node.work();
  const Relay& relay = node.relay();
  // What is written or read is counted by the rank that wrote or read it.
  const bool arrives = test_case.rank_opcode == RankOpcode::send;
  const auto expected = [this, arrives](std::uint64_t messages) {
    return arrives ? expected_messages(plan, test_case, rank, messages) : 0;
  };
  pass_barrier();
  work.expected = expected(test_case.warmup);
  loops.stream(work, test_case.warmup, loss_ns_, clock, stop, tally);
  check();
  // What has been lost by now is not waited for again.
  const std::uint64_t lost_before =
      relay.arrived < work.expected ? work.expected - relay.arrived : 0;
  pass_barrier();
  work.expected = expected(test_case.warmup) + expected(test_case.iterations) - lost_before;
  loops.stream(work, test_case.iterations, loss_ns_, clock, stop, tally);
  check();
  result.elapsed_ns = tally.elapsed_ns;
  result.sending_ns = tally.sending_ns;
  result.sent = tally.operations;
  const std::uint64_t missing = relay.arrived < work.expected ? work.expected - relay.arrived : 0;
  result.arrived =
      expected(test_case.iterations) - std::min(expected(test_case.iterations), missing);
  if (!arrives) result.arrived = tally.operations;
  pass_barrier();
  if (!arrives && test_case.verify) node.check_places(senders_of(plan, test_case, rank));
  if (loss_ns_ == 0 && relay.arrived != work.expected)
    throw MeasurementError(
        fmt::format("{} messages arrived, and {} were sent here", relay.arrived, work.expected));
}

/// Every rank fills its memory before it comes to the barrier of the next collective; and no rank
/// sends before all have come.
void RankRun::run_collectives(std::uint64_t count, bool checked) {
  RankCollective& collective = *node.collective();
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t now = checked ? 1 : count;
    if (checked) collective.fill();
    loops.collective(node.work(), now, clock, stop, tally);
    check();
    done += now;
    if (checked)
      count_checked(node.relay(), collective.wrong_bytes(), collective.result_bytes(), rank);
  }
}

void RankRun::measure_collectives(RankResult& result) {
  RankCollective& collective = *node.collective();
  // The first one's result is compared whatever was asked for: a time of anything else is none.
  collective.time_next(1 + test_case.warmup);
  run_collectives(1, true);
  run_collectives(test_case.warmup, false);
  pass_barrier();
  collective.time_next(test_case.iterations);
  tally.operations = 0;
  run_collectives(test_case.iterations, test_case.verify != 0);
  result.samples.collective_ns = collective.take_samples();
  for (const std::uint64_t ns : result.samples.collective_ns) result.elapsed_ns += ns;
  result.collective_mean_ns =
      static_cast<double>(result.elapsed_ns) /
      static_cast<double>(std::max<std::size_t>(result.samples.collective_ns.size(), 1));
  pass_barrier();
}

}  // namespace rdmameter
