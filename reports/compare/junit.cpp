// SPDX-License-Identifier: Apache-2.0
// A comparison as JUnit XML, which every CI shows.
#include <fmt/format.h>

#include "reports/compare/output.h"

namespace rdmameter {
namespace {

struct Tests {
  std::string text;
  std::size_t count = 0, failures = 0, skipped = 0;

  void add(std::string_view suite, std::string_view name, CaseVerdict verdict, bool gates,
           const std::string& message) {
    ++count;
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", suite, markup_text(name));
    const std::string told = markup_text(fmt::format("{}: {}", verdict_text(verdict), message));
    if (verdict == CaseVerdict::fail && gates) {
      ++failures;
      text += fmt::format("><failure message=\"{}\"/></testcase>\n", told);
    } else if (verdict == CaseVerdict::pass || verdict == CaseVerdict::better) {
      text += fmt::format("><system-out>{}</system-out></testcase>\n", told);
    } else {
      ++skipped;
      text += fmt::format("><skipped message=\"{}\"/></testcase>\n", told);
    }
  }
};

}  // namespace

std::string comparison_junit(const Comparison& comparison) {
  Tests tests;
  for (const CaseComparison& one_case : comparison.cases)
    tests.add("rdmameter.compare", one_case.name, one_case.verdict,
              comparison.times_gate || one_case.effects.empty(),
              effect_text(one_case) +
                  (one_case.note.empty() || one_case.effects.empty() ? "" : "; " + one_case.note));
  for (const GateFinding& finding : comparison.gates)
    tests.add("rdmameter.gate", finding.name + " " + finding.gate, finding.verdict, true,
              finding.text);
  const std::string tally = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"",
                                        tests.count, tests.failures, tests.skipped);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite "
      "name=\"rdmameter compare {1} {2}\" {0}>\n{3}  </testsuite>\n</testsuites>\n",
      tally, markup_text(comparison.base), markup_text(comparison.other), tests.text);
}

}  // namespace rdmameter
