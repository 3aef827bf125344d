// SPDX-License-Identifier: Apache-2.0
#include "topologies/rank_run.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/cpu_time.h"
#include "core/error.h"
#include "core/side.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kTimedBarriers = 100;

}  // namespace

void RankRun::check() {
  const LoopEnd& end = node_.relay().end;
  switch (stop_.reason()) {
    case StopReason::interrupted:
      throw Interrupted("interrupted");
    case StopReason::deadline:
      throw MeasurementError(kOutOfPatience);
    case StopReason::none:
    case StopReason::finish:
    case StopReason::peer:
    case StopReason::sibling:
      break;
  }
  if (end.why == LoopEnd::Why::done) return;
  throw MeasurementError(loop_end_text(end, node_.qp_text(end.qp_num)));
}

void RankRun::run(RankResult& result) {
  measure_barrier(result);
  const std::uint64_t cpu_before = thread_cpu_ns();
  switch (plan_.drive()) {
    case Drive::walk:
      measure_walks(result);
      break;
    case Drive::exchange:
    case Drive::spread:
      measure_exchanges(result);
      break;
    case Drive::stream:
    case Drive::drawn:
      measure_stream(result);
      break;
  }
  result.cpu_ns = thread_cpu_ns() - cpu_before;
  const Relay& relay = node_.relay();
  result.operations = tally_.operations;
  result.lost = tally_.lost;
  result.wrs = node_.sent() + relay.grants;
  result.cqes = relay.cqes;
  result.polls = relay.polls;
  result.doorbells = relay.lists + relay.grants;
  result.passed_on = node_.passed_on();
  result.checked_bytes = relay.checked_bytes;
  if (relay.wrong_bytes > 0)
    throw MeasurementError(fmt::format("--verify: {} bytes of {} are not as they left",
                                       relay.wrong_bytes, relay.checked_bytes));
}

void RankRun::measure_barrier(RankResult& result) {
  const auto histogram = std::make_unique<Histogram>();
  tally_.latency = histogram.get();
  loops_.time_barriers(node_.work(), kTimedBarriers, clock_, stop_, tally_);
  check();
  result.barrier = snapshot(*histogram);
  tally_.latency = scratch_.get();
}

/// One walk at a time. Whoever has arrived at the barrier answers and passes on meanwhile; the
/// walk's own initiator arrives there when it is done.
void RankRun::measure_walks(RankResult& result) {
  result.matrix_row_ns.resize(plan_.graph.ranks());
  node_.deliver_walks(false);
  pass_barrier();
  for (const std::vector<Rank>& stops : plan_.flows.walks) {
    if (stops.front() == rank_) measure_walk(stops, result);
    pass_barrier();
    if (loss_ns_ == 0) continue;
    // What was late comes back to whom it belongs, before that one answers others again.
    node_.deliver_walks(false);
    pass_barrier();
  }
}

void RankRun::measure_walk(const std::vector<Rank>& stops, RankResult& result) {
  node_.begin_walk_to(stops[1]);
  node_.deliver_walks(true);
  const std::uint64_t lost_before = tally_.lost, operations_before = tally_.operations;
  loops_.walk(node_.work(), case_.warmup, loss_ns_, clock_, stop_, tally_);
  check();
  tally_.lost = lost_before;
  tally_.operations = operations_before;
  const auto histogram = std::make_unique<Histogram>();
  tally_.latency = histogram.get();
  loops_.walk(node_.work(), case_.iterations, loss_ns_, clock_, stop_, tally_);
  tally_.latency = scratch_.get();
  check();
  if (loss_ns_ == 0) node_.deliver_walks(false);
  const HistogramData samples = snapshot(*histogram);
  const bool pair = stops.size() == 3;
  std::uint64_t hops = mine_.hops[stops[1]];
  if (!pair) {
    hops = 0;
    for (std::size_t i = 1; i < stops.size(); ++i)
      hops += tree_from(plan_.graph, stops[i - 1]).hops[stops[i]];
  }
  if (pair && samples.count > 0)
    result.matrix_row_ns[stops[1]] = static_cast<double>(percentile(samples, 50)) / 2;
  merge(result.by_hops[hops], samples);
}

std::uint64_t RankRun::messages_of_exchange() const {
  std::uint64_t messages = 0;
  for (const Round& round : mine_.rounds) messages += round.to.size();
  return messages;
}

void RankRun::measure_exchanges(RankResult& result) {
  pass_barrier();
  loops_.exchange(node_.work(), case_.warmup, loss_ns_, clock_, stop_, tally_);
  check();
  pass_barrier();
  const auto histogram = std::make_unique<Histogram>();
  tally_.latency = histogram.get();
  tally_.operations = tally_.lost = 0;
  loops_.exchange(node_.work(), case_.iterations, loss_ns_, clock_, stop_, tally_);
  tally_.latency = scratch_.get();
  check();
  result.elapsed_ns = tally_.elapsed_ns;
  result.sending_ns = tally_.sending_ns;
  result.exchanges = snapshot(*histogram);
  result.sent = case_.iterations * messages_of_exchange();
  std::uint64_t expected = 0;
  for (const Round& round : mine_.rounds) expected += round.from.size();
  result.arrived = case_.iterations * expected - tally_.lost;
  pass_barrier();
  const std::uint64_t all = (case_.warmup + case_.iterations) * expected;
  if (loss_ns_ == 0 && node_.relay().arrived != all)
    throw MeasurementError(
        fmt::format("{} messages arrived, and {} were sent here", node_.relay().arrived, all));
}

void RankRun::measure_stream(RankResult& result) {
  RankWork& work = node_.work();
  const Relay& relay = node_.relay();
  // What is written or read nobody counts here, but who wrote or read it.
  const bool arrives = case_.between_ranks() == RankOpcode::send;
  const auto expected = [this, arrives](std::uint64_t messages) {
    return arrives ? expected_messages(plan_, case_, rank_, messages) : 0;
  };
  pass_barrier();
  work.expected = expected(case_.warmup);
  loops_.stream(work, case_.warmup, loss_ns_, clock_, stop_, tally_);
  check();
  // What has been lost by now is not waited for again.
  const std::uint64_t lost_before =
      relay.arrived < work.expected ? work.expected - relay.arrived : 0;
  pass_barrier();
  work.expected = expected(case_.warmup) + expected(case_.iterations) - lost_before;
  loops_.stream(work, case_.iterations, loss_ns_, clock_, stop_, tally_);
  check();
  result.elapsed_ns = tally_.elapsed_ns;
  result.sending_ns = tally_.sending_ns;
  result.sent = tally_.operations;
  const std::uint64_t missing = relay.arrived < work.expected ? work.expected - relay.arrived : 0;
  result.arrived = expected(case_.iterations) - std::min(expected(case_.iterations), missing);
  if (!arrives) result.arrived = tally_.operations;
  pass_barrier();
  if (!arrives && case_.verify != 0) node_.check_places(senders_of(plan_, case_, rank_));
  if (loss_ns_ == 0 && relay.arrived != work.expected)
    throw MeasurementError(
        fmt::format("{} messages arrived, and {} were sent here", relay.arrived, work.expected));
}

}  // namespace rdmameter
