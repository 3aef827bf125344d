// SPDX-License-Identifier: Apache-2.0
// Two results side by side: a verdict for each case, and one for all.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "reports/compare/comparable.h"
#include "reports/compare/gate.h"
#include "reports/compare/judge.h"

namespace rdmameter {

struct ComparisonOptions {
  Floors floors = {};
  double work_tolerance = 0.01;    ///< growth of a counter per message that does not count
  std::vector<std::string> gates;  ///< limits, and the words "work" and "times"; empty: times
  bool allow_environment_change = false;
  bool strict = false;  ///< anything inconclusive makes the whole so
  bool every_metric =
      false;  ///< effects of all metrics of all cases, not of the notable ones alone
  std::size_t draws = kBootstrapDraws;  ///< of the bootstrap
};

struct MetricEffect {
  Metric metric;
  Effect effect;
};

struct CaseComparison {
  std::string name;
  bool half = false;  ///< what is told are half round trips
  CaseVerdict verdict = CaseVerdict::pass;
  std::vector<MetricEffect> effects;  ///< the primary one first; empty: not measured on both sides
  double q_worse = 1, allowed = 1;
  std::string note;  ///< why it is inconclusive, what would settle it, what failed
};

enum class Conclusion { pass, fail, inconclusive };

struct Comparison {
  std::string base, other;            ///< names of the two sides
  bool sides = false;                 ///< of one measuring run (A and B), not two files
  std::vector<std::string> remarks;   ///< what the reader must know beforehand
  std::vector<CaseComparison> cases;  ///< worst first
  std::vector<GateFinding> gates;     ///< those that were not kept first
  std::vector<std::string> only_base, only_other;
  bool times_gate = true, work_gate = false;
  bool powerless = false;  ///< a regression of one case alone cannot become significant
  bool strict = false;     ///< as it was asked for
  Conclusion conclusion = Conclusion::pass;

  std::size_t count(CaseVerdict verdict) const;
};

/// Two files, whose replicates are runs.
/// @throws UsageError  environments differ (naming how), there is no common case (naming what each
///                     has), a gate is none
Comparison compare_files(const Comparable& base, const Comparable& other,
                         const ComparisonOptions& options);

/// The two sides of one measuring run, taken in turns, whose replicates are repetitions.
/// @param noise  recorded of the cases elsewhere; those of the file itself come first
Comparison compare_sides(const Comparable& file, const ComparisonOptions& options);

/// The first comparison with the verdicts of a second one, measured anew, on the cases that this
/// has.
Comparison replaced_by(const Comparison& first, const Comparison& second);

/// Why so many replicates are too few for one of the cases alone to become significant; empty: they
/// are enough.
std::string power_remark(std::size_t replicates, std::size_t cases, Replication replication);

/// Effects of side against side, as noise for later comparisons: by the name of the case.
std::map<std::string, Noise, std::less<>> noise_of(const Comparable& file);

}  // namespace rdmameter
