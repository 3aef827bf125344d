// SPDX-License-Identifier: Apache-2.0
// A result held against gates.
#pragma once

#include <string>
#include <vector>

#include "reports/compare/case_judge.h"
#include "reports/compare/comparable.h"
#include "reports/compare/gate.h"

namespace rdmameter {

/// The result of one gate for one case.
struct GateFinding {
  std::string gate, name;
  CaseVerdict verdict = CaseVerdict::pass;  ///< pass, fail or inconclusive
  std::string text;                         ///< the figures, or why there are none
};

/// A gate fails where the median over the repetitions is beyond the limit and so is the whole of
/// its bootstrap interval; where only the median is, nothing is certain. Where there are no parts
/// because the whole was not measured, a gate of parts is one of the whole.
/// @throws UsageError  a gate's pattern matches no case, naming what there is
std::vector<GateFinding> check_gates(const std::vector<Gate>& gates,
                                     const std::vector<ComparableCase>& cases);

/// Is there a work counter per message that grew by more than `tolerance`? Times vary, work
/// repeats. Polls do not: they wait for time to pass.
std::vector<GateFinding> check_work(const ComparableCase& base, const ComparableCase& other,
                                    double tolerance);

/// A gate fails where the change is beyond the share and its whole interval is; where only a part
/// of the interval is within, nothing is certain. What neither side can measure is no finding.
/// @param cases  judged with the gates' metrics
/// @throws UsageError  a gate's pattern matches no case
std::vector<GateFinding> check_relative_gates(const std::vector<RelativeGate>& gates,
                                              const std::vector<CaseComparison>& cases);

}  // namespace rdmameter
