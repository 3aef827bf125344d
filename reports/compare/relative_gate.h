// SPDX-License-Identifier: Apache-2.0
// Limits relative to BASE: 'p99=20%', 'write_lat/* p99.9=50%'.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/compare/case_judge.h"
#include "reports/compare/gate.h"

namespace rdmameter {

struct RelativeGate {
  std::string text;     ///< as it was given
  std::string pattern;  ///< of the case's name, as a shell has them
  Metric metric = Metric::p50;
  double share = 0;  ///< by which NEW may be worse than BASE
};

/// Reads "[CASE] METRIC=SHARE%". METRIC: p50, p90, p99, p99.9, p99.99, min, max, mean, stddev;
/// bandwidth. Nothing where the text has no '=' after a metric's name, and is no such gate.
/// @throws UsageError  quoting the text, and saying what it takes
std::optional<RelativeGate> read_relative_gate(const std::string& text);

/// Is it a gate of any kind? @throws UsageError  it is not
void check_gate(const std::string& text);

/// A gate fails where the change is beyond the share and its whole interval is; where only a part
/// of the interval is within, nothing is certain.
/// @param cases  judged with the gates' metrics
/// @throws UsageError  a gate's pattern matches no case
std::vector<GateFinding> check_relative_gates(const std::vector<RelativeGate>& gates,
                                              const std::vector<CaseComparison>& cases);

}  // namespace rdmameter
