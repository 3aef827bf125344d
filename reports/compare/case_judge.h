// SPDX-License-Identifier: Apache-2.0
// From pairs of cases to a verdict on each, all of them judged together.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/compare/effect.h"
#include "reports/compare/pairing.h"
#include "reports/compare/reliability.h"

namespace rdmameter {

/// The share of sweeps of identical code in which some metric of some case may fail.
inline constexpr double kMetricRate = 0.025;

struct CaseComparison {
  std::string name;
  std::string_view times = {};  ///< what latencies are, where that is not plain
  bool part = false;            ///< of a mix: the requests of one operation and size
  CaseVerdict verdict = CaseVerdict::pass;
  std::vector<Effect> effects;        ///< members, the worst first; empty: a side has none
  std::vector<Effect> others;         ///< metrics that do not judge, where they were asked for
  std::vector<CaseFinding> findings;  ///< failures, losses
  double q_worse = 1;                 ///< of all members together, adjusted over all cases
  std::string note;                   ///< why it is inconclusive, what would settle it, what failed
};

struct JudgeOptions {
  Floors floors = {};
  Noises noise = {};           ///< recorded of cases, by name
  std::vector<Metric> others;  ///< further metrics to be computed
};

struct Judgement {
  std::vector<CaseComparison> cases;     ///< as the pairs
  std::vector<BatchDeviations> batches;  ///< of each metric
  std::size_t family = 0;                ///< cases judged together
  std::size_t replicates = 0;            ///< the fewest that a case has on a side; 0: no case
};

/// A member fails where it is significant among all cases and members (kMetricRate), also by ranks
/// alone (runs) or by turning blocks round (blocks), and beyond the floor. It is suspect where it
/// is beyond the floor and would be significant if all batches were alike, or if there
/// were more replicates.
Judgement judge_cases(const std::vector<Pair>& pairs, const Batches& batches,
                      const JudgeOptions& options);

/// The fewest replicates a side with which one case alone can become significant among so many.
std::size_t replicates_for(std::size_t cases, Replication replication, std::size_t looks = 1);

}  // namespace rdmameter
