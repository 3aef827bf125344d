// SPDX-License-Identifier: Apache-2.0
// Limits that a result must keep: 'write_lat/rc/size:64 half_round_trip.p99 <= 3us'.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/compare/comparable.h"
#include "reports/compare/verdict.h"

namespace rdmameter {

/// A limit of one metric of the cases whose name matches.
struct Gate {
  std::string text;     ///< as it was given
  std::string pattern;  ///< of the case's name; * ? [...] as a shell has them
  Metric metric = Metric::p50;
  bool half = false;  ///< of half round trips; else latencies are of round trips or completions
  enum class Relation { less, at_most, greater, at_least } relation = Relation::at_most;
  double limit = 0;  ///< [ns], or as bandwidth's names say
};

/// Reads "PATTERN METRIC RELATION LIMIT". METRIC: half_round_trip.p50 (and the other statistics of
/// a latency), latency.p50, bandwidth.gbps, bandwidth.mib_per_s, bandwidth.mmsg_per_s, lost.
/// RELATION: < <= > >=. LIMIT: of times a number with ns, us, ms or s; of others a number.
/// @throws UsageError  quoting the text, and saying what is wrong with it and what it takes
Gate read_gate(const std::string& text);

/// What one gate says of one case.
struct GateFinding {
  std::string gate, name;
  CaseVerdict verdict = CaseVerdict::pass;  ///< pass, fail or inconclusive
  std::string text;                         ///< the figures, or why there are none
};

/// Is it a gate of this case? Parts of a mix have none but those whose pattern names a part.
/// @param part  is the case one?
bool is_gated(const std::string& pattern, const std::string& name, bool part);

/// A gate fails where the median over the repetitions is beyond the limit and so is the whole of
/// its bootstrap interval; where only the median is, nothing is certain.
/// @throws UsageError  a gate's pattern matches no case, naming what there is
std::vector<GateFinding> check_gates(const std::vector<Gate>& gates,
                                     const std::vector<ComparableCase>& cases);

/// Is there a work counter per message that grew by more than `tolerance`? Times vary, work
/// repeats. Polls do not: they wait for time to pass.
std::vector<GateFinding> check_work(const ComparableCase& base, const ComparableCase& other,
                                    double tolerance);

}  // namespace rdmameter
