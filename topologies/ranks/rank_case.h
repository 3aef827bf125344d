// SPDX-License-Identifier: Apache-2.0
// A rank's own steps of a case: it makes its queues, connects them and measures. Between them are
// the steps that all ranks take together (measurer.cpp).
#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/engine/open_devices.h"
#include "core/engine/placement/placement.h"
#include "core/verbs/device_events.h"
#include "topologies/ranks/cm_edges.h"
#include "topologies/ranks/device_queues.h"
#include "topologies/ranks/lost_pairs.h"
#include "topologies/ranks/rank_result.h"
#include "topologies/stragglers/elimination.h"

namespace rdmameter {

class RankCase {
 public:
  /// @param rank  one beyond the case's ranks only takes part in the common steps
  /// @param clock, interrupt  borrowed
  RankCase(const TestCase& test_case, Rank rank, std::chrono::milliseconds patience,
           const ClockChoice& clock, const InterruptSource& interrupt);
  RankCase(RankCase&&) = delete;  // the rank's plan points into it

  const TopologyPlan& plan() const { return plan_; }
  /// Is this rank one of the case's? Own steps are for these alone.
  bool taken() const { return mine_.has_value(); }
  /// Of a traffic in rounds. @pre taken()
  std::size_t rounds() const { return mine_->pair_turns.size(); }
  const RankResult& result() const { return result_; }
  const std::vector<RefusedEdge>& refused() const { return refused_; }
  /// The time since the last lap belongs to this step.
  /// @param apart_ns  of that time what is told elsewhere
  void lap(const char* step, std::uint64_t apart_ns = 0);

  // The steps, in this order; in a traffic of pairs again from begin() on, if some pairs fail and
  // others are left.

  /// Destroys all queues: it is not known which messages of theirs are still under way.
  void begin(const PairAttempt& attempt);
  /// Queues and those of the barrier; of iWARP it listens from now on.
  /// @param seed    of all ranks' payloads
  /// @param yields  its loops give the core away
  /// @throws Unsupported, VerbsError
  void create(OpenDevice& device, Placement placement, std::uint64_t seed, bool yields);
  /// What each rank that is to have QPs with this one must know of them.
  std::map<Rank, std::string> addresses() const;
  /// In traffics in rounds, edges that could not be connected become refused().
  /// @param received  addresses() of other ranks for this one
  /// @throws Unsupported, MeasurementError, VerbsError, Interrupted
  void connect(const std::map<Rank, std::string>& received);
  /// Pairs that would need an edge that any rank was refused are lost. Where the barrier needs one,
  /// this attempt is over: the next one's barrier goes around it.
  void set_refused(std::vector<RefusedEdge> of_all);
  /// What fails stands in the result. @throws Interrupted
  void run();
  /// As run(), after it: see RankRun::run_again().
  void run_again(const std::vector<RoundTripStops>& trips);

  /// @pre taken(), and created
  const OpenDevice& device() const { return *device_; }
  /// The counters of this rank's device, and facts about its memory.
  void add_device(Outcome& outcome) const;
  /// Did rdma_cm connect its QPs?
  bool by_cm() const { return cm_ != nullptr; }

 private:
  void start_lap() { last_lap_ = std::chrono::steady_clock::now(); }
  template <class Call>
  void with_loops(Call call);
  void add_facts();

  const TopologyPlan plan_;
  std::optional<RankPlan> mine_;
  const std::chrono::milliseconds patience_;
  const ClockChoice& clock_;
  const InterruptSource& interrupt_;
  PairAttempt attempt_;               ///< more pairs are lost where edges are refused
  std::vector<RefusedEdge> refused_;  ///< of this rank; once all are connected, of all
  OpenDevice* device_ = nullptr;
  Placement placement_;
  bool yields_ = false;
  Counters counters_before_;
  std::unique_ptr<DeviceQueues> queues_;
  std::unique_ptr<CmEdges> cm_;  ///< of iWARP
  RankResult result_;
  std::chrono::steady_clock::time_point last_lap_ = std::chrono::steady_clock::now();
};

}  // namespace rdmameter
