// SPDX-License-Identifier: Apache-2.0
// A comparison told to people at a terminal, to a CI's summary page, to its test report: each is a
// loop over the verdict table, and one over the gates. The page's is comparison_section.cpp.
#pragma once

#include <string>
#include <vector>

#include "reports/compare/comparison.h"
#include "reports/text/table.h"

namespace rdmameter {

struct VerdictLine : CaseComparison {
  bool decides = false;  ///< about the whole
  std::string text;      ///< what it rests on, or why nothing is judged

  /// "fail: p50 3.10 µs -> 3.60 µs, +16.1 % (+14.0 % to +18.2 %); note"
  std::string message() const;
};

/// The cases of both sides, the worst first.
std::vector<VerdictLine> verdict_table(const Comparison& comparison);

/// "12 cases: 1 fail, 2 inconclusive, 9 pass; 1 of BASE is not in NEW".
std::string tally_text(const Comparison& comparison);

inline constexpr std::size_t kFewCases = 20;  ///< that all fit a screen

/// Quantity, base, new, change, interval. @param told  null: empty cells
std::vector<Table::Cell> effect_cells(const Effect* told);

/// A text that says what the values and changes of a table estimate; of two files only where a
/// change differs from the ratio of the two values beside it. Empty: nothing to say.
std::string estimates_text(const Comparison& comparison);

/// "p50 3.10 µs -> 3.60 µs, +16.1 % (+14.0 % to +18.2 %)", or why there is none; what
/// failed or got lost, where that decides.
std::string effect_text(const CaseComparison& test_case);

/// Remarks, then a table with the worst first; passes only where there are few, or if all
/// are asked for.
std::string comparison_text(const Comparison& comparison, bool all, const TextStyle& style);

/// GitHub-flavoured, worst first, then the cases that only one side has; under 1 MiB, which is what
/// a step summary takes: what does not fit is counted.
std::string comparison_markdown(const Comparison& comparison);

/// JUnit XML, valid by junit-10.xsd of Jenkins: a test for each case and gate. What is suspect is
/// an error of type "suspect", what is inconclusive or only in BASE is skipped; a last test has the
/// conclusion, so that what is not proven is never green.
std::string comparison_junit(const Comparison& comparison);

/// GitHub's workflow commands, which annotate the run: an error for each failure, a warning for
/// each suspect, for a conclusion that is not proven and for cases that only BASE has; at most ten,
/// as many as GitHub shows of a step.
std::string comparison_github(const Comparison& comparison);

}  // namespace rdmameter
