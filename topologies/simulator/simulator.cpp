// SPDX-License-Identifier: Apache-2.0
#include "topologies/simulator/simulator.h"

#include <bit>
#include <deque>
#include <exception>
#include <vector>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "topologies/ranks/loop/loop_table_instance.h"
#include "topologies/ranks/rank_queues.h"
#include "topologies/ranks/rank_run.h"
#include "topologies/simulator/sim_fabric.h"

namespace rdmameter {
namespace {

using VirtualLoops = RankLoopInstance<RankPolicy<VirtualClock, VirtualWait, ReceiveMode::own>>;

/// Of all ranks' payloads.
constexpr std::uint64_t kPayloadSeed = 1;
constexpr std::uint64_t kAnyDepth = 1U << 30;  ///< a simulated device has queues of any length

/// A rank whose queues are on the fabric.
class SimRank : public RankQueues {
 public:
  /// @param plan  borrowed
  SimRank(SimFabric& fabric, const RankPlan& plan, const StopFlag& stop)
      : RankQueues(plan, kPayloadSeed, kAnyDepth),
        memory_(sparse_memory(memory_size(), "memory")),
        stop_(stop) {
    messages_ = words_ = {.host = memory_.get(), .address = address()};
    where_ = "a simulated device";
    for (std::uint64_t i = 0; i < cq_count(); ++i) cqs_.push_back(fabric.make_cq());
    for (std::uint64_t i = 0; i < qp_count(); ++i)
      qps_.push_back(fabric.make_qp(rank_, cqs_[cqs_.size() == 1 ? 0 : i]));
    fill_message(reinterpret_cast<std::uint8_t*>(memory_.get()), pattern_, rank_);
    build();
    plan_barrier({});
    barrier_memory_.resize(barrier_memory_size());
    barrier_words_ = {.host = barrier_memory_.data(),
                      .address = reinterpret_cast<std::uint64_t>(barrier_memory_.data())};
    barrier_.cq = fabric.make_cq();
    for (std::size_t i = 0; i < barrier_partners_.size(); ++i)
      barrier_qps_.push_back(fabric.make_qp(rank_, barrier_.cq));
  }

  /// Of each edge the rank with the lower number connects both ends' QPs.
  void connect(const std::function<SimRank&(Rank)>& other) {
    const std::uint64_t per_edge = edge_qps_.all;
    for (std::uint64_t i = 0; i < link_count_; ++i) {
      const Link& link = links()[i];
      SimRank& peer = other(link.peer);
      connect_link(i, peer.address() + peer.areas_.credited, 0, 0);
      const std::uint64_t theirs = place_of(peer.neighbours_, rank_) * per_edge + i % per_edge;
      if (rank_ < link.peer) SimFabric::connect(link.qp, peer.qps_[theirs]);
    }
    for (std::size_t i = 0; i < barrier_partners_.size(); ++i) {
      const SimRank& peer = other(barrier_partners_[i]);
      SimFabric::connect(barrier_qps_[i],
                         peer.barrier_qps_[place_of(peer.barrier_partners_, rank_)]);
    }
    build_barrier(
        [&](Rank rank) {
          return std::pair(other(rank).barrier_words_.address + kBarrierHeardAt, 0U);
        },
        0);
  }

  /// In its fiber. What fails stands in the result.
  void run() noexcept {
    try {
      RankRun run(*this, result_, VirtualLoops::kLoops, clock_, stop_);
      run.begin();
      run.run();
    } catch (const std::exception& error) {
      result_.failure = error_text(error);
    }
    result_.cpu_ns = 0;
  }

  RankResult take_result() { return std::move(result_); }

 private:
  std::uint64_t address() const { return reinterpret_cast<std::uint64_t>(memory_.get()); }

  const SparseMemory memory_;  ///< whose bytes are moved only where they are compared
  std::vector<std::byte> barrier_memory_;
  const ClockChoice clock_;
  const StopFlag& stop_;
  RankResult result_;
};

}  // namespace

std::string why_not_simulated(const TestCase& test_case) {
  if (test_case.transport != Transport::rc) return "only RC is simulated: nothing is lost there";
  if (test_case.rank_opcode != RankOpcode::send) return "only --opcode send is simulated";
  if (test_case.shared_receives()) return "shared receives are not simulated: use --recv rq";
  if (read_traffic(test_case.traffic).entry->collective != nullptr)
    return "collectives are not simulated";
  return {};
}

namespace {

/// Flows of a traffic between the ranks, each of which has a message in each exchange.
std::uint64_t flow_count(const TopologyPlan& plan) {
  std::uint64_t count = 0;
  for (Rank rank = 0; rank < plan.graph.ranks(); ++rank) count += plan.receivers(rank).size();
  return count;
}

/// Over one edge each: of the traffic and of barriers, without credits.
std::uint64_t messages_of(const TopologyPlan& plan) {
  constexpr std::uint64_t kOtherBarriers = 24;
  const std::uint64_t ranks = plan.graph.ranks(),
                      each = plan.test_case.iterations + plan.test_case.warmup;
  const std::vector<PairRound> rounds = rounds_of_pairs(plan);
  std::uint64_t barriers = kOtherBarriers, messages = 0;
  switch (plan.traffic_mode()) {
    case TrafficMode::round_trip:
      barriers += plan.in_rounds() ? 2 * rounds.size() : plan.round_trips.size();
      for (const PairRound& round : rounds) messages += 4 * round.size() * each;
      for (const auto& stops : plan.round_trips) messages += (stops.size() - 1) * each;
      break;
    case TrafficMode::exchange:
    case TrafficMode::spread:
      messages = flow_count(plan) * each;
      break;
    case TrafficMode::stream:
    case TrafficMode::drawn:
      barriers += 4 * rounds.size();
      for (const PairRound& round : rounds) messages += 2 * round.size() * each;
      if (!plan.in_rounds()) messages = ranks * each;
      break;
    case TrafficMode::collective:
      break;
  }
  const double hops = plan.traffic_mode() == TrafficMode::spread ? 1 : plan.hops.mean;
  return static_cast<std::uint64_t>(real(messages) * hops) +
         barriers * ranks * static_cast<std::uint64_t>(std::bit_width(ranks - 1));
}

void require_wanted(const StopFlag& stop) {
  if (stop.requested()) throw Interrupted("interrupted");
}

}  // namespace

Outcome simulate(const TestCase& test_case, const SimNetwork& network, const StopFlag& stop,
                 const std::function<void(std::uint64_t messages)>& begun) {
  const auto ranks = static_cast<Rank>(test_case.ranks);
  const TopologyPlan plan = plan_topology(test_case);
  SimFabric fabric(network, ranks, test_case.verify != 0);
  std::deque<RankPlan> plans;
  std::deque<SimRank> all;
  if (begun) begun(messages_of(plan));
  plan_ranks(plan, [&](RankPlan rank_plan) {
    require_wanted(stop);
    all.emplace_back(fabric, plans.emplace_back(std::move(rank_plan)), stop);
  });
  const auto by_number = [&all](Rank rank) -> SimRank& { return all[rank]; };
  for (SimRank& one : all) {
    require_wanted(stop);
    one.connect(by_number);
  }
  fabric.run([&](Rank rank) { all[rank].run(); }, stop);
  if (fabric.not_ready() != 0)
    throw MeasurementError("a simulated message found no receive: credits are wrong");
  std::vector<RankResult> results;
  for (SimRank& one : all) results.push_back(one.take_result());
  for (Rank rank = 0; rank < ranks; ++rank)
    if (!results[rank].failure.empty())
      throw MeasurementError("rank {}: {}", rank, results[rank].failure);
  Outcome outcome = merge_results(plan, results);
  outcome.effective = as_measured(test_case, results);
  outcome.extra.erase("placement");
  return outcome;
}

}  // namespace rdmameter
