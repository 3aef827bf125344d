// SPDX-License-Identifier: Apache-2.0
// How one metric differs between the two sides, in each case of a sweep; what a comparison can say
// of a case, and of all of them.
#pragma once

#include <string>
#include <vector>

#include "core/result/row_json.h"
#include "reports/compare/pairing.h"
#include "reports/stats/ranks.h"

namespace rdmameter {

/// The worst first: a case has the worst verdict of its members.
enum class CaseVerdict {
  fail,          ///< worse: significant among all cases, beyond the floor
  suspect,       ///< looks so, but more runs or batches must confirm it
  inconclusive,  ///< a change beyond the margin can neither be seen nor ruled out
  better,        ///< the same as fail, the other way round
  pass,          ///< a change beyond the margin is ruled out
};

/// Neither failed nor proven.
constexpr bool is_open(CaseVerdict verdict) {
  return verdict == CaseVerdict::suspect || verdict == CaseVerdict::inconclusive;
}

/// A finding about a case beside its metrics.
struct CaseFinding {
  CaseVerdict verdict = CaseVerdict::pass;
  std::string text;       ///< "10 of 15 repetitions failed, 0 of 15 in BASE"
  bool of_times = false;  ///< of what was too slow, as a machine may be
};

enum class Conclusion {
  pass,        ///< every case passes or got better
  fail,        ///< a case or a gate fails
  not_proven,  ///< nothing fails, and something is suspect or inconclusive
};

inline constexpr auto kVerdictNames =
    names_to<CaseVerdict::pass>("fail", "suspect", "inconclusive", "better", "pass");
inline constexpr auto kConclusionNames =
    names_to<Conclusion::not_proven>("pass", "fail", "not proven");

inline constexpr double kConfidence = 0.95;

/// The assumptions of a comparison, and the changes that it lets pass, as shares of
/// the base's value.
struct Floors {
  double relative = 0.03;  ///< a smaller change never fails
  double spreads = 1.5;    ///< nor one within so many times the case's deviation among its runs
  double absolute_ns = 0;  ///< nor one of a time below that
  double batch = 0.03;     ///< standard deviation among batches of p50, mean and rates
  double margin = 0.10;    ///< what a pass rules out, of p50, mean and rates
};

/// The effect of one metric on one case. Ratios are NEW over BASE.
struct Effect {
  Metric metric = {};
  double base = 0, other = 0;  ///< medians of the runs; of blocks geometric means
  double ratio = 1;            ///< Hodges-Lehmann; of blocks other / base
  Interval interval;           ///< of the ratio, at kConfidence; what batches do is in it
  double worst = 1;            ///< the slowdown that is ruled out at kConfidence, one-sided
  std::size_t replicates_base = 0, replicates_other = 0;
  double p_worse = 1, p_better = 1;
  double p_worse_runs = 1;                             ///< as if all batches were alike
  bool worse_by_rank = false, better_by_rank = false;  ///< with enough replicates, whatever the
                                                       ///< distribution
  double floor = 1;                                    ///< a slowdown below this never fails
  double margin = 1;    ///< the slowdown that must be ruled out for a pass
  std::string problem;  ///< why nothing can be said; empty: something can
  /// Of a member, by the judge; of another metric it stays so.
  CaseVerdict verdict = CaseVerdict::pass;
};

/// The deviations of a metric between a sweep's batches, for the reader.
struct BatchDeviations {
  Metric metric;
  double common = 0, by_case = 0;  ///< standard deviations of ln(value)
  bool measured = false;           ///< else assumed
};

struct MetricSweep {
  std::vector<Effect> effects;  ///< a pair's; with a problem where either side has no such metric
  BatchDeviations batches;
};

/// Two files.
MetricSweep sweep_of_runs(const std::vector<Pair>& pairs, Metric metric, const Floors& floors,
                          const Noises& noise, const Batches& batches);

/// Two sides of one measuring run. Which block a value is of says Replicate::repetition.
MetricSweep sweep_of_blocks(const std::vector<Pair>& pairs, Metric metric, const Floors& floors,
                            const Noises& noise);

/// Differences of a case's logarithms block by block, above 0 where NEW is worse; blocks that lack
/// either side's value are left out.
std::vector<double> block_differences(const Pair& pair, Metric metric);

/// Latencies are judged by p50, mean, p99 and p99.9; open loops also by the share of the offered
/// rate that they reached; bandwidths by their rate, and by p99 of the completions where
/// these were timed.
bool judges(Metric metric, const ComparableCase& test_case);

/// The ratio turned so that above 1 is worse.
double slowdown(Metric metric, double ratio);

}  // namespace rdmameter
