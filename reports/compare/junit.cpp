// SPDX-License-Identifier: Apache-2.0
// A comparison as JUnit XML, which every CI shows.
#include <fmt/format.h>

#include "reports/compare/output.h"

namespace rdmameter {
namespace {

struct Tests {
  std::string text;
  std::size_t count = 0, failures = 0, errors = 0, skipped = 0;

  void add(std::string_view suite, std::string_view name, CaseVerdict verdict, bool gates,
           std::string_view message) {
    ++count;
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\"", suite, markup_text(name));
    const std::string told = markup_text(message);
    if (verdict == CaseVerdict::fail && gates) {
      ++failures;
      text += fmt::format("><failure message=\"{}\"/></testcase>\n", told);
    } else if (verdict == CaseVerdict::suspect && gates) {
      ++errors;
      text += fmt::format("><error type=\"suspect\" message=\"{}\"/></testcase>\n", told);
    } else if (verdict == CaseVerdict::pass || verdict == CaseVerdict::better) {
      text += fmt::format("><system-out>{}</system-out></testcase>\n", told);
    } else {
      ++skipped;
      text += fmt::format("><skipped message=\"{}\"/></testcase>\n", told);
    }
  }
};

/// What is not proven must not be green.
CaseVerdict verdict_of(Conclusion conclusion) {
  switch (conclusion) {
    case Conclusion::pass:
      return CaseVerdict::pass;
    case Conclusion::fail:
      return CaseVerdict::fail;
    case Conclusion::not_proven:
      return CaseVerdict::suspect;
  }
  return CaseVerdict::fail;
}

}  // namespace

std::string comparison_junit(const Comparison& comparison) {
  Tests tests;
  for (const CaseComparison& test_case : comparison.cases) {
    std::string message =
        fmt::format("{}: {}", verdict_text(test_case.verdict), effect_text(test_case));
    if (!test_case.note.empty() && !test_case.effects.empty()) message += "; " + test_case.note;
    tests.add("rdmameter.compare", test_case.name, test_case.verdict, comparison.gated(test_case),
              message);
  }
  for (const std::string& name : comparison.only_base)
    tests.add("rdmameter.compare", name, CaseVerdict::inconclusive, false,
              "only in BASE: NEW has no such case, so nothing is judged");
  for (const GateFinding& finding : comparison.gates)
    tests.add("rdmameter.gate", finding.name + " " + finding.gate, finding.verdict, true,
              fmt::format("{}: {}", verdict_text(finding.verdict), finding.text));
  tests.add("rdmameter", "conclusion", verdict_of(comparison.conclusion), true,
            fmt::format("{}: {}", conclusion_text(comparison.conclusion), tally_text(comparison)));
  const std::string tally = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"{}\"", tests.count,
                                        tests.failures, tests.errors);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite "
      "name=\"rdmameter compare {1} {2}\" {0} skipped=\"{3}\">\n{4}  </testsuite>\n</testsuites>\n",
      tally, markup_text(comparison.base), markup_text(comparison.other), tests.skipped,
      tests.text);
}

}  // namespace rdmameter
