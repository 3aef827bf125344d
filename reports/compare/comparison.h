// SPDX-License-Identifier: Apache-2.0
// Two results side by side: a verdict for each case, and one for all.
#pragma once

#include <string>
#include <vector>

#include "reports/compare/case_judge.h"
#include "reports/compare/comparable.h"
#include "reports/compare/gate_check.h"

namespace rdmameter {

struct ComparisonOptions {
  Floors floors = {};
  double work_tolerance = 0.01;    ///< growth of a counter per message that does not count
  std::vector<std::string> gates;  ///< limits, relative ones, and the words "work" and "times";
                                   ///< neither word: times; none at all: the file's, of two NEW's
  bool allow_environment_change = false;
  bool strict = false;           ///< nothing is proven where NEW lacks a case of BASE
  bool inconclusive_ok = false;  ///< what is not proven passes
  bool every_metric = false;     ///< message rates, too
};

struct Comparison {
  std::string base, other;            ///< names of the two sides
  bool sides = false;                 ///< of one measuring run (A and B), not two files
  std::vector<std::string> remarks;   ///< what the reader must know beforehand
  std::vector<CaseComparison> cases;  ///< worst first
  std::vector<GateFinding> gates;     ///< those that were not kept first
  std::vector<std::string> only_base, only_other;
  std::vector<std::string> failed_in_new;  ///< of only_other: in no repetition measured
  bool times_gate = true, work_gate = false;
  double significant = kMetricRate;              ///< what q may be at most for a verdict
  std::vector<BatchDeviations> batches;          ///< what batches were taken to do
  bool strict = false, inconclusive_ok = false;  ///< as they were asked for
  Conclusion conclusion = Conclusion::pass;

  bool gated(const CaseComparison& test_case) const;  ///< does its verdict decide about the whole?
};

/// Two files, whose replicates are runs, or batches.
/// @throws UsageError  environments differ (naming how), there is no common case (naming what each
///                     has), a gate is none
Comparison compare_files(const Comparable& base, const Comparable& other,
                         const ComparisonOptions& options);

/// The two sides of one measuring run, taken in turns, whose replicates are blocks of both.
Comparison compare_sides(const Comparable& file, const ComparisonOptions& options);

/// The first comparison with the verdicts of a second one, measured anew, on the cases
/// that this has, and on the gates that were not kept.
Comparison replaced_by(const Comparison& first, const Comparison& second);

/// Why so many replicates are too few for one of the cases alone to become significant; empty: they
/// are enough.
/// @param looks  of a measuring run, which share the error rate
std::string power_remark(std::size_t replicates, std::size_t cases, Replication replication,
                         std::size_t looks = 1);

/// Effects of side against side, as noise for later comparisons: by the name of the case.
Noises noise_of(const Comparable& file);

// ---- Did the machine change, and not only what is measured on it?

/// Canaries are what neither the network nor its device has a part in: the instrument's overhead,
/// which each run measures (reading the clock, ping-pongs and streams on the null device), and
/// cases over TCP or on the null device among others.
/// @param base, other  contexts of the results
/// @return  of each that changed "clock_read_ns 8.75 -> 12.1"; empty: none did
std::vector<std::string> changed_canaries(const Json& base, const Json& other,
                                          const std::vector<CaseComparison>& cases);

}  // namespace rdmameter
