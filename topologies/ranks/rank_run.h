// SPDX-License-Identifier: Apache-2.0
// One rank's part in one repetition, once its QPs are connected: which loops it runs, and when it
// arrives at the barrier.
#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "core/base/stop.h"
#include "core/instrument/clock.h"
#include "topologies/ranks/loop/loop_table.h"
#include "topologies/ranks/lost_pairs.h"
#include "topologies/ranks/node_work.h"
#include "topologies/ranks/rank_plan.h"
#include "topologies/ranks/rank_result.h"
#include "topologies/stragglers/elimination.h"

namespace rdmameter {

class Watchdog;

/// The objects that a repetition uses. Borrowed.
struct RankRunParts {
  NodeWork& node;
  Barrier& barrier;
  const TestCase& test_case;
  const TopologyPlan& plan;
  const RankPlan& mine;
  const Rank rank;
  const RankLoops& loops;
  const ClockChoice& clock;
  const StopFlag& stop;
  RankTally& tally;
  Watchdog* watchdog = nullptr;  ///< null: no pair has a limit
  std::chrono::milliseconds pair_limit = {};
  PairAttempt attempt = {};  ///< of a traffic in rounds
};

class RankRun : RankRunParts {
 public:
  explicit RankRun(const RankRunParts& parts)
      : RankRunParts(parts), loss_ns_(test_case.reliable() ? 0 : test_case.loss_timeout_ns) {
    node.work().barrier = &barrier;
    tally.latency = samples_.get();
  }

  /// The first barrier: when it returns, every rank is there.
  /// @throws MeasurementError, Interrupted  also run()
  void begin() { pass_barrier(); }
  void run(RankResult& result);

  /// After run(), on RC: round trips, each while the network is otherwise quiet.
  /// @return  by round trip the median where it began here [ns]; else 0
  std::vector<double> run_again(const std::vector<RoundTripStops>& trips);

 private:
  void check() { check(stop); }
  void check(const StopFlag& until);
  void pass_barrier() {
    loops.serve(node.work(), stop, tally);
    check();
  }
  void await_barrier();
  void retire_barrier();
  void measure_barrier(RankResult& result);
  void measure_round_trips(RankResult& result);
  void measure_pairs(RankResult& result);
  void measure_pair(Rank partner, RankResult& result);
  void measure_pair_streams(RankResult& result);
  bool stream_with(const Rank& partner, bool sends, std::uint64_t before, std::uint64_t messages,
                   RankResult& result);
  void add_pair_stream(Rank partner, bool sends, std::uint64_t before, RankResult& result);
  void meet_after_pair(Rank partner, RankResult& result);
  void deliver_late_round_trips();
  void lose_pair(Rank partner, const std::string& reason, bool waited, RankResult& result);
  void measure_round_trip(const std::vector<Rank>& stops, const StopFlag& until,
                          RankResult& result);
  HistogramData time_round_trip(const std::vector<Rank>& stops, const StopFlag& until);
  void pass_round_trip_barriers();
  void measure_exchanges(RankResult& result);
  void measure_stream(RankResult& result);
  void measure_collectives(RankResult& result);
  void run_collectives(std::uint64_t count, bool checked);
  std::uint64_t messages_of_exchange() const;

  /// Forgets those before, of a warm-up. Its memory, 256 KiB, is used again.
  void begin_samples() { std::construct_at(samples_.get()); }

  const std::uint64_t loss_ns_;
  const std::unique_ptr<Histogram> samples_ = std::make_unique<Histogram>();
};

}  // namespace rdmameter
