// SPDX-License-Identifier: Apache-2.0
// From two sides' replicates to what can be said of them. Pure: no files, no texts of reports.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "reports/stats/hodges_lehmann.h"

namespace rdmameter {

/// Fewer runs than this on a side and no test can tell a change from a run's luck.
inline constexpr std::size_t kLeastRuns = 5;
inline constexpr double kConfidence = 0.95;
inline constexpr double kSignificance = 0.05;

/// What a change must exceed to count, and what is taken for granted where nothing is recorded.
struct Floors {
  double relative = 0.05;      ///< of the base's value
  double absolute_ns = 50;     ///< of times only
  double between_runs = 0.02;  ///< standard deviation of ln(value) among runs, if not recorded
};

/// One metric of one case on one side: a value for each repetition, run by run.
using Runs = std::vector<std::vector<double>>;

/// How a side's values become replicates.
enum class Replication {
  repetitions,  ///< both sides in one measuring run, in turns: each repetition is a replicate
  runs,         ///< two files: repetitions share their run's luck, so its median is the replicate
};

/// The effect of one metric. Ratios are NEW over BASE.
struct Effect {
  double base = 0, other = 0;  ///< medians of the replicates
  double ratio = 1;            ///< Hodges-Lehmann
  Interval interval;           ///< of the ratio, at kConfidence
  std::size_t replicates_base = 0, replicates_other = 0;
  bool tested = false;  ///< replicates enough for the permutation test, by which p is made;
                        ///< else the interval and p rest on recorded or assumed noise
  double p_worse = 1, p_better = 1;
  std::string problem;  ///< why nothing can be said; empty: something can
};

struct EffectOptions {
  Replication replication = Replication::runs;
  bool higher_is_better = false;
  double between_runs = 0;              ///< standard deviation of ln(value) among runs
  std::uint64_t seed = 0;               ///< of the bootstrap
  std::size_t draws = kBootstrapDraws;  ///< of the bootstrap
};
Effect effect_of(const Runs& base, const Runs& other, const EffectOptions& options);

enum class CaseVerdict {
  fail,          ///< worse: significant, beyond the floors and the recorded noise
  suspect,       ///< looks so, but the replicates cannot confirm it
  inconclusive,  ///< a change that matters can neither be seen nor ruled out
  better,        ///< the same as fail, the other way round
  pass,          ///< a change that matters is ruled out, or there is none to be seen
};

/// How much slower (1.1: by a tenth) may a case get before it counts?
/// @param base   the value of the base
/// @param noise  recorded for the case
double allowed_slowdown(double base, bool is_time, double noise, const Floors& floors);

/// @param q_worse, q_better  the effect's p-values, adjusted over all cases
/// @param allowed            allowed_slowdown()
CaseVerdict verdict_of(const Effect& effect, bool higher_is_better, double q_worse, double q_better,
                       double allowed);

/// How many replicates a side would probably settle it; 0: more of them would not help.
std::size_t replicates_needed(const Effect& effect, bool higher_is_better, double allowed,
                              std::size_t cases);

/// The fewest replicates a side with which one case alone can become significant among so many.
std::size_t replicates_for(std::size_t cases);

}  // namespace rdmameter
