// SPDX-License-Identifier: Apache-2.0
// One rank's part in one repetition, once its QPs are connected: which loops it runs, and when it
// arrives at the barrier.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/base/stop.h"
#include "core/instrument/clock.h"
#include "topologies/ranks/loop/loop_table.h"
#include "topologies/ranks/lost_pairs.h"
#include "topologies/ranks/rank_queues.h"
#include "topologies/ranks/rank_result.h"
#include "topologies/stragglers/elimination.h"

namespace rdmameter {

class Watchdog;

class RankRun {
 public:
  /// All is borrowed but the attempt, whose pairs alone are measured.
  /// @param queues    their state has a barrier
  /// @param result    what is measured is added to it
  /// @param watchdog  null: no pair has a limit
  RankRun(RankQueues& queues, RankResult& result, const RankLoops& loops, const ClockChoice& clock,
          const StopFlag& stop, Watchdog* watchdog = nullptr, PairAttempt attempt = {});

  /// The first barrier: when it returns, every rank is there.
  /// @throws MeasurementError, Interrupted  also run()
  void begin() { pass_barrier(); }
  void run();

  /// After run(), on RC: round trips, each while the network is otherwise quiet.
  /// @return  by round trip the median where it began here [ns]; else 0
  std::vector<double> run_again(const std::vector<RoundTripStops>& trips);

 private:
  void check() { check(stop_); }
  void check(const StopFlag& until);
  void pass_barrier() {
    loops_.serve(state_, stop_);
    check();
  }
  void run_loop(RankLoops::Limited loop, std::uint64_t count, const StopFlag& until) {
    loop(state_, count, loss_ns_, clock_, until);
    check(until);
  }
  void await_barrier(bool (Barrier::*until)() noexcept);
  void measure_barrier();
  void measure_round_trips();
  void measure_pairs();
  void measure_pair(Rank partner);
  void measure_pair_streams();
  bool stream_with(const Rank& partner, bool sends, std::uint64_t before, std::uint64_t messages);
  void add_pair_stream(Rank partner, bool sends, std::uint64_t before);
  void meet_after_pair(Rank partner);
  void deliver_late_round_trips();
  void lose_pair(Rank partner, const std::string& reason, bool waited) {
    result_.lost_pairs.push_back({.with = partner, .reason = reason, .waited = waited});
  }
  void measure_round_trip(const std::vector<Rank>& stops, const StopFlag& until);
  HistogramData time_round_trip(const std::vector<Rank>& stops, const StopFlag& until);
  void measure_exchanges();
  void measure_stream();
  void measure_collectives();
  void run_collectives(std::uint64_t count, bool checked);

  /// Forgets those before, of a warm-up. Its memory, 256 KiB, is used again.
  void begin_samples() { std::construct_at(samples_.get()); }

  RankQueues& queues_;
  RankState& state_ = queues_.state();
  Barrier& barrier_ = *state_.barrier;
  const RankPlan& mine_ = queues_.plan();
  const TopologyPlan& plan_ = mine_.all;
  const TestCase& case_ = plan_.test_case;
  const Rank rank_ = mine_.rank;
  RankResult& result_;
  const RankLoops& loops_;
  const ClockChoice& clock_;
  const StopFlag& stop_;
  Watchdog* const watchdog_;
  const PairAttempt attempt_;
  /// What is written or read is counted by the rank that wrote or read it.
  const bool arrives_ = case_.rank_opcode == RankOpcode::send;
  const std::uint64_t loss_ns_ = case_.reliable() ? 0 : case_.loss_timeout_ns;
  const std::unique_ptr<Histogram> samples_ = std::make_unique<Histogram>();
};

}  // namespace rdmameter
