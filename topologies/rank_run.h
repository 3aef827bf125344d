// SPDX-License-Identifier: Apache-2.0
// One rank's part in one repetition, once its QPs are connected: which loops it runs, and when it
// arrives at the barrier.
#pragma once

#include <memory>
#include <vector>

#include "core/clock.h"
#include "core/stop.h"
#include "topologies/barrier_qps.h"
#include "topologies/loop_table.h"
#include "topologies/node.h"
#include "topologies/rank_plan.h"
#include "topologies/rank_result.h"

namespace rdmameter {

/// Why a loop of a rank ended that others have kept waiting.
inline constexpr const char* kOutOfPatience = "nothing has moved for too long (--patience)";

class RankRun {
 public:
  RankRun(Node& node, BarrierQps& barrier, const Case& one_case, const TopologyPlan& plan,
          const RankPlan& mine, Rank rank, const RankLoops& loops, const ClockChoice& clock,
          const StopWord& stop, RankTally& tally)
      : node_(node),
        barrier_(barrier),
        case_(one_case),
        plan_(plan),
        mine_(mine),
        rank_(rank),
        loops_(loops),
        clock_(clock),
        stop_(stop),
        tally_(tally),
        loss_ns_(one_case.reliable() ? 0 : one_case.loss_timeout_ns) {
    node_.work().barrier = &barrier_.barrier();
    tally_.latency = scratch_.get();
  }

  /// The first barrier: when it returns, every rank is there.
  /// @throws MeasurementError, Interrupted  also run()
  void begin() { pass_barrier(); }
  void run(RankResult& result);

 private:
  void check();
  void pass_barrier() {
    loops_.serve(node_.work(), stop_, tally_);
    check();
  }
  void measure_barrier(RankResult& result);
  void measure_walks(RankResult& result);
  void measure_walk(const std::vector<Rank>& stops, RankResult& result);
  void measure_exchanges(RankResult& result);
  void measure_stream(RankResult& result);
  std::uint64_t messages_of_exchange() const;

  Node& node_;
  BarrierQps& barrier_;
  const Case& case_;
  const TopologyPlan& plan_;
  const RankPlan& mine_;
  const Rank rank_;
  const RankLoops& loops_;
  const ClockChoice& clock_;
  const StopWord& stop_;
  RankTally& tally_;
  const std::uint64_t loss_ns_;
  std::unique_ptr<Histogram> scratch_ = std::make_unique<Histogram>();
};

}  // namespace rdmameter
