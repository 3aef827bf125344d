// SPDX-License-Identifier: Apache-2.0
// A comparison told to people at a terminal, to a CI's summary page, to its test report.
#pragma once

#include <string>
#include <string_view>

#include "reports/compare/comparison.h"
#include "reports/text.h"

namespace rdmameter {

std::string_view verdict_text(CaseVerdict verdict);

/// "12 cases: 1 fail, 2 inconclusive, 9 pass".
std::string tally_text(const Comparison& comparison);

/// "p50 3.10 µs -> 3.60 µs, +16.1 % (+14.0 % to +18.2 %)", or why there is none.
std::string effect_text(const CaseComparison& one_case);

/// Remarks, then a table with the worst first; passes only where there are few, or all is asked
/// for.
std::string comparison_text(const Comparison& comparison, bool all, const TextStyle& style);

/// GitHub-flavoured, worst first; under 1 MiB, which is what a step summary takes: what does not
/// fit is counted.
std::string comparison_markdown(const Comparison& comparison);

/// JUnit XML: a test for each case and gate; what is neither pass nor fail counts as skipped.
std::string comparison_junit(const Comparison& comparison);

/// GitHub's workflow commands, which annotate the run: an error for each failure, a warning for
/// each suspect; at most ten, as many as GitHub shows of a step.
std::string comparison_github(const Comparison& comparison);

}  // namespace rdmameter
