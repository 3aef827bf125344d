// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/rank_run.h"

#include <algorithm>
#include <utility>

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
  PairLimit(Watchdog* watchdog, const StopFlag& stop) : watchdog_(watchdog), stop_(stop) {
    if (watchdog_ != nullptr) watchdog_->limit(late_);
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

RankRun::RankRun(RankQueues& queues, RankResult& result, const RankLoops& loops,
                 const ClockChoice& clock, const StopFlag& stop, Watchdog* watchdog,
                 PairAttempt attempt)
    : queues_(queues),
      result_(result),
      loops_(loops),
      clock_(clock),
      stop_(stop),
      watchdog_(watchdog),
      attempt_(std::move(attempt)) {
  state_.latency = samples_.get();
  state_.operations = state_.lost = 0;
}

/// @param until  what the loop looked at
void RankRun::check(const StopFlag& until) {
  const LoopResult& end = state_.end;
  const StopReason reason = until.reason();
  if (reason == StopReason::interrupted) throw Interrupted("interrupted");
  if (reason == StopReason::deadline)
    throw MeasurementError(&until == &stop_ ? kOutOfPatience
                                            : "the pair took longer than half of --patience");
  if (end.why == LoopResult::Why::done) return;
  throw MeasurementError(loop_result_text(end, queues_.qp_text(end.qp_num)));
}

/// Waits for the barrier alone.
/// @param until  passed(), of a barrier that this rank has arrived at, when nothing of the graph can
///               be relayed any more; or retired(): who destroys its QPs before the others have its
///               part of the last barrier leaves them waiting
void RankRun::await_barrier(bool (Barrier::*until)() noexcept) {
  while (!(barrier_.*until)() && barrier_.end.why == LoopResult::Why::done && !stop_.requested())
    loops_.wait(barrier_.cq);
  state_.end = barrier_.end;
  check();
}

void RankRun::run() {
  measure_barrier();
  const std::uint64_t cpu_before = thread_cpu_ns();
  switch (plan_.traffic_mode()) {
    case TrafficMode::round_trip:
      measure_round_trips();
      break;
    case TrafficMode::exchange:
    case TrafficMode::spread:
      measure_exchanges();
      break;
    case TrafficMode::stream:
    case TrafficMode::drawn:
      if (plan_.in_rounds())
        measure_pair_streams();
      else
        measure_stream();
      break;
    case TrafficMode::collective:
      measure_collectives();
      break;
  }
  const std::uint64_t checked = plan_.traffic_mode() == TrafficMode::collective ? 1 : 0;
  const double all = real(case_.warmup + case_.iterations + checked);
  result_.cpu_ns = static_cast<std::uint64_t>(real(thread_cpu_ns() - cpu_before) *
                                              (real(case_.iterations) / all));
  await_barrier(&Barrier::retired);
  result_.operations = state_.operations;
  result_.lost = state_.lost;
  result_.wrs = queues_.sent() + state_.credits;
  result_.cqes = state_.cqes;
  result_.polls = state_.polls;
  result_.doorbells = state_.lists + state_.credits;
  result_.passed_on = queues_.passed_on();
  result_.checked_bytes = state_.checked_bytes;
  result_.qps = queues_.qp_count();
  result_.barrier_qps = queues_.barrier_partners().size();
  result_.connection_bytes = queues_.connection_bytes();
  result_.relay_bytes = queues_.relay_bytes();
  if (state_.wrong_bytes > 0 && queues_.collective() != nullptr)
    throw MeasurementError("{} bytes of the collectives' {} are not what they must be",
                           state_.wrong_bytes, state_.checked_bytes);
  if (state_.wrong_bytes > 0)
    throw MeasurementError(
        "--verify: {} bytes of {} are not as they were sent; the first of them are of "
        "a message from rank {}",
        state_.wrong_bytes, state_.checked_bytes, state_.wrong_from);
}

void RankRun::measure_barrier() {
  begin_samples();
  loops_.time_barriers(state_, timed_barriers(case_.ranks), clock_, stop_);
  check();
  result_.samples.barrier = snapshot(*samples_);
}

/// One round trip at a time. Ranks at the barrier answer and relay meanwhile; the initiator arrives
/// there when it is done.
void RankRun::measure_round_trips() {
  result_.matrix_row_ns.resize(plan_.graph.ranks());
  queues_.deliver_round_trips(false);
  pass_barrier();
  if (!mine_.pair_turns.empty()) return measure_pairs();
  for (const std::vector<Rank>& stops : plan_.round_trips) {
    if (stops.front() == rank_) measure_round_trip(stops, stop_);
    pass_barrier();
    deliver_late_round_trips();
  }
}

/// All pairs of a round at once: one rank of each begins, then the other one. It ends for all ranks
/// where one of them has raised the alarm: QPs of the graph are of no use any more.
void RankRun::measure_pairs() {
  for (std::uint64_t half = attempt_.half_round; half < 2 * mine_.pair_turns.size(); ++half) {
    const auto& [partner, first] = mine_.pair_turns[half / 2];
    const bool begins = first == (half % 2 == 0);
    if (partner != rank_ && begins && !holds(attempt_.lost, rank_, partner)) measure_pair(partner);
    meet_after_pair(partner);
    result_.half_rounds = half + 1;
    if (barrier_.alarmed()) return;
    deliver_late_round_trips();
  }
}

void RankRun::measure_pair(Rank partner) {
  const PairLimit limit(watchdog_, stop_);
  try {
    measure_round_trip({rank_, partner, rank_}, limit.late());
    if (result_.matrix_row_ns[partner] == 0) lose_pair(partner, "no message came back", false);
  } catch (const MeasurementError& error) {
    lose_pair(partner, error.what(), limit.late().requested());
    barrier_.alarm = true;
  }
}

/// A pair that fails keeps no rank from the barrier. A rank that finds a QP of the graph unusable
/// relays no more: no other pair of this round needs it.
void RankRun::meet_after_pair(Rank partner) {
  if (state_.end.why != LoopResult::Why::done) {
    barrier_.arrive();
    return await_barrier(&Barrier::passed);
  }
  loops_.serve(state_, stop_);
  if (stop_.requested() || barrier_.end.why != LoopResult::Why::done) check();
  if (state_.end.why == LoopResult::Why::done) return;
  const std::string reason = loop_result_text(state_.end, queues_.qp_text(state_.end.qp_num));
  if (partner != rank_) lose_pair(partner, reason, false);
  barrier_.alarm = true;
  await_barrier(&Barrier::passed);
}

/// As measure_pairs(), but one rank of a pair streams to the other. All pairs of a round end their
/// warm-up together.
void RankRun::measure_pair_streams() {
  const bool written = case_.rank_opcode == RankOpcode::write && case_.verify;
  std::vector<Rank> writers;
  result_.matrix_row_ns.resize(plan_.graph.ranks());
  if (arrives_) result_.matrix_column_ns.resize(plan_.graph.ranks());
  result_.half_rounds = attempt_.half_round;
  std::uint64_t before = state_.arrived;  // nothing is under way to this rank
  const auto meet = [&](Rank partner) {
    before = state_.arrived;
    meet_after_pair(partner);
    return !barrier_.alarmed();
  };
  pass_barrier();
  for (std::uint64_t half = attempt_.half_round; half < 2 * mine_.pair_turns.size(); ++half) {
    const auto& [partner, first] = mine_.pair_turns[half / 2];
    const bool taken = partner != rank_ && !holds(attempt_.lost, rank_, partner);
    const bool sends = first == (half % 2 == 0);
    if (taken) stream_with(partner, sends, before, case_.warmup);
    if (!meet(partner)) return;
    if (taken && stream_with(partner, sends, before, case_.iterations))
      add_pair_stream(partner, sends, before);
    const bool all_well = meet(partner);
    result_.half_rounds = half + 1;
    if (!all_well) return;
    if (taken && !sends && written) writers.push_back(partner);
  }
  if (written) queues_.check_places(writers);
}

/// So many messages from one rank of a pair to the other.
/// @param partner  borrowed: of the plan
/// @param before  messages that had come here before any of these was sent
/// @return        false: the pair is lost, and the next barrier raises the alarm
bool RankRun::stream_with(const Rank& partner, bool sends, std::uint64_t before,
                          std::uint64_t messages) {
  state_.partners = &partner;
  state_.partner_count = sends ? 1 : 0;
  state_.expected = !sends && arrives_ ? before + messages : 0;
  const PairLimit limit(watchdog_, stop_);
  try {
    const std::uint64_t operations = state_.operations;
    loops_.stream(state_, messages, loss_ns_, clock_, limit.late());
    state_.operations = operations;  // add_pair_stream() counts
    check(limit.late());
    return true;
  } catch (const MeasurementError& error) {
    lose_pair(partner, error.what(), limit.late().requested());
    barrier_.alarm = true;
    return false;
  }
}

/// What this rank knows of the stream that has just ended.
void RankRun::add_pair_stream(Rank partner, bool sends, std::uint64_t before) {
  if (sends) {
    result_.sent += case_.iterations;
    result_.sending_ns += state_.sending_ns;
    result_.matrix_row_ns[partner] = real(state_.sending_ns) / real(case_.iterations);
    if (case_.rank_opcode == RankOpcode::read && case_.verify) queues_.check_places({});
  }
  if (sends == arrives_) return;  // the other one counts
  const std::uint64_t arrived =
      arrives_ ? std::min(state_.arrived - before, case_.iterations) : case_.iterations;
  if (arrived == 0) return lose_pair(partner, "no message came", false);
  state_.operations += arrived;
  result_.arrived += arrived;
  // 0 is no time: all may have come while this rank was still in the barrier.
  if (arrives_)
    result_.matrix_column_ns[partner] =
        real(std::max<std::uint64_t>(state_.elapsed_ns, 1)) / real(arrived);
}

/// Late messages come back to their sender before it answers others again.
void RankRun::deliver_late_round_trips() {
  if (loss_ns_ == 0) return;
  queues_.deliver_round_trips(false);
  pass_barrier();
}

/// The samples of round trips that begin here.
HistogramData RankRun::time_round_trip(const std::vector<Rank>& stops, const StopFlag& until) {
  queues_.begin_round_trip_to(stops[1]);
  queues_.deliver_round_trips(true);
  const std::uint64_t lost_before = state_.lost, operations_before = state_.operations;
  run_loop(loops_.round_trip, case_.warmup, until);
  state_.lost = lost_before;
  state_.operations = operations_before;
  begin_samples();
  run_loop(loops_.round_trip, case_.iterations, until);
  if (loss_ns_ == 0) queues_.deliver_round_trips(false);
  return snapshot(*samples_);
}

void RankRun::measure_round_trip(const std::vector<Rank>& stops, const StopFlag& until) {
  const HistogramData samples = time_round_trip(stops, until);
  std::uint64_t hops = 0;
  if (plan_.in_rounds()) {  // a pair
    hops = mine_.hops[stops[1]];
    if (samples.count > 0) result_.matrix_row_ns[stops[1]] = real(percentile(samples, 50)) / 2;
  } else {
    for (std::size_t i = 1; i < stops.size(); ++i)
      hops += tree_from(plan_.graph, stops[i - 1]).hops[stops[i]];
  }
  merge(result_.samples.by_hops[hops], samples);
}

std::vector<double> RankRun::run_again(const std::vector<RoundTripStops>& trips) {
  std::vector<double> medians_ns;
  std::vector<std::uint32_t> next(plan_.graph.ranks());
  queues_.deliver_round_trips(false);
  for (const RoundTripStops& stops : trips) {
    for (std::size_t i = 1; i + 1 < stops.size(); ++i)
      if (stops[i] == rank_) next[stops[i - 1]] = stops[i + 1];
    state_.reply_to = next.data();
    pass_barrier();
    HistogramData samples;
    if (stops.front() == rank_) samples = time_round_trip(stops, stop_);
    medians_ns.push_back(samples.count == 0 ? 0 : real(percentile(samples, 50)));
    pass_barrier();
  }
  await_barrier(&Barrier::retired);
  state_.reply_to = mine_.reply_to.data();
  return medians_ns;
}

void RankRun::measure_exchanges() {
  pass_barrier();
  run_loop(loops_.exchange, case_.warmup, stop_);
  pass_barrier();
  begin_samples();
  state_.operations = state_.lost = 0;
  run_loop(loops_.exchange, case_.iterations, stop_);
  result_.elapsed_ns = state_.elapsed_ns;
  result_.sending_ns = state_.sending_ns;
  result_.samples.exchanges = snapshot(*samples_);
  std::uint64_t sent = 0, expected = 0;
  for (const Round& round : mine_.rounds) {
    sent += round.to.size();
    expected += round.from.size();
  }
  result_.sent = case_.iterations * sent;
  result_.arrived = case_.iterations * expected - state_.lost;
  pass_barrier();
  const std::uint64_t all = (case_.warmup + case_.iterations) * expected;
  if (loss_ns_ == 0 && state_.arrived != all)
    throw MeasurementError("{} messages arrived, and {} were sent here", state_.arrived, all);
}

void RankRun::measure_stream() {
  const auto expected = [this](std::uint64_t messages) {
    return arrives_ ? expected_messages(plan_, rank_, messages) : 0;
  };
  pass_barrier();
  state_.expected = expected(case_.warmup);
  run_loop(loops_.stream, case_.warmup, stop_);
  const auto missing = [this] {
    return state_.arrived < state_.expected ? state_.expected - state_.arrived : 0;
  };
  const std::uint64_t lost_before = missing();  // that is not waited for again
  pass_barrier();
  state_.expected = expected(case_.warmup) + expected(case_.iterations) - lost_before;
  run_loop(loops_.stream, case_.iterations, stop_);
  result_.elapsed_ns = state_.elapsed_ns;
  result_.sending_ns = state_.sending_ns;
  result_.sent = state_.operations;
  result_.arrived = expected(case_.iterations) - std::min(expected(case_.iterations), missing());
  if (!arrives_) result_.arrived = state_.operations;
  pass_barrier();
  if (!arrives_ && case_.verify) queues_.check_places(senders_of(plan_, rank_));
  if (loss_ns_ == 0 && state_.arrived != state_.expected)
    throw MeasurementError("{} messages arrived, and {} were sent here", state_.arrived,
                           state_.expected);
}

/// Every rank fills its memory before it comes to the barrier of the next collective; and no rank
/// sends before all have come.
void RankRun::run_collectives(std::uint64_t count, bool checked) {
  RankCollective& collective = *queues_.collective();
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t now = checked ? 1 : count;
    if (checked) collective.fill();
    loops_.collective(state_, now, clock_, stop_);
    check();
    done += now;
    if (checked) count_checked(state_, collective.wrong_bytes(), collective.result_bytes(), rank_);
  }
}

void RankRun::measure_collectives() {
  const std::uint64_t before = 1 + case_.warmup;
  std::vector<std::uint64_t> times_ns(std::max(before, case_.iterations));
  state_.collective->samples = times_ns.data();
  // The first one's result is compared whatever was asked for: a time of anything else is none.
  run_collectives(1, true);
  run_collectives(case_.warmup, false);
  pass_barrier();
  times_ns.resize(case_.iterations);
  state_.collective->samples = times_ns.data();
  state_.operations = 0;
  run_collectives(case_.iterations, case_.verify != 0);
  for (const std::uint64_t ns : times_ns) result_.elapsed_ns += ns;
  result_.collective_mean_ns =
      real(result_.elapsed_ns) / real(std::max<std::size_t>(times_ns.size(), 1));
  state_.collective->samples = nullptr;
  result_.samples.collective_ns = std::move(times_ns);
  pass_barrier();
}

}  // namespace rdmameter
