// SPDX-License-Identifier: Apache-2.0
// A comparison as annotations of a GitHub run.
#include <fmt/format.h>

#include "reports/compare/output.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMax = 10;  ///< GitHub shows ten of each kind and step

/// As GitHub's own toolkit escapes what stands in a workflow command.
std::string escaped(std::string_view text, bool property) {
  std::string result;
  for (const char c : printable(text))
    if (c == '%')
      result += "%25";
    else if (property && c == ':')
      result += "%3A";
    else if (property && c == ',')
      result += "%2C";
    else
      result += c;
  return result;
}

std::string annotation(const char* level, std::string_view title, std::string_view text) {
  return fmt::format("::{} title={}::{}\n", level, escaped(title, true), escaped(text, false));
}

}  // namespace

std::string comparison_github(const Comparison& comparison) {
  std::vector<std::string> lines;
  for (const GateFinding& finding : comparison.gates)
    if (finding.verdict == CaseVerdict::fail)
      lines.push_back(annotation("error", "gate: " + finding.name,
                                 fmt::format("{} ({})", finding.text, finding.gate)));
  for (const CaseComparison& test_case : comparison.cases) {
    const bool asked = comparison.gated(test_case);
    if (test_case.verdict == CaseVerdict::fail)
      lines.push_back(annotation(asked ? "error" : "notice", "worse: " + test_case.name,
                                 effect_text(test_case)));
    if (test_case.verdict == CaseVerdict::suspect && asked)
      lines.push_back(annotation("warning", "suspect: " + test_case.name, effect_text(test_case)));
  }
  if (comparison.conclusion == Conclusion::not_proven)
    lines.push_back(annotation("warning", "rdmameter: not proven", tally_text(comparison)));
  if (const std::vector<std::string>& gone = comparison.only_base; !gone.empty())
    lines.push_back(
        annotation("warning", "rdmameter: only in BASE",
                   fmt::format("{} of BASE's cases {} not in NEW, so not judged: {}", gone.size(),
                               gone.size() == 1 ? "is" : "are", few_names(gone))));
  const std::size_t shown = lines.size() > kMax ? kMax - 1 : lines.size();
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += lines[i];
  if (shown < lines.size())
    text +=
        annotation("warning", "rdmameter",
                   fmt::format("and {} more: {}", lines.size() - shown, tally_text(comparison)));
  return text;
}

}  // namespace rdmameter
