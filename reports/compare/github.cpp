// SPDX-License-Identifier: Apache-2.0
// A comparison as annotations of a GitHub run.
#include <fmt/format.h>

#include "reports/compare/output.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMost = 10;  ///< GitHub shows ten of each kind and step

/// As GitHub's own toolkit escapes what stands in a workflow command.
std::string escaped(std::string_view text, bool property) {
  std::string made;
  for (const char c : printable(text))
    if (c == '%')
      made += "%25";
    else if (property && c == ':')
      made += "%3A";
    else if (property && c == ',')
      made += "%2C";
    else
      made += c;
  return made;
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
  for (const CaseComparison& one_case : comparison.cases) {
    const bool asked = comparison.times_gate || one_case.effects.empty();
    if (one_case.verdict == CaseVerdict::fail)
      lines.push_back(annotation(asked ? "error" : "notice", "slower: " + one_case.name,
                                 effect_text(one_case)));
    if (one_case.verdict == CaseVerdict::suspect && asked)
      lines.push_back(annotation("warning", "suspect: " + one_case.name, effect_text(one_case)));
  }
  const std::size_t shown = lines.size() > kMost ? kMost - 1 : lines.size();
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) text += lines[i];
  if (shown < lines.size())
    text +=
        annotation("warning", "rdmameter",
                   fmt::format("and {} more: {}", lines.size() - shown, tally_text(comparison)));
  return text;
}

}  // namespace rdmameter
