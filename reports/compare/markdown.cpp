// SPDX-License-Identifier: Apache-2.0
// A comparison as a page of a CI's summary.
#include <fmt/format.h>

#include "reports/compare/output.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMostBytes = 1'000'000;  ///< GitHub refuses a step summary above 1 MiB

/// Text from a file as text, whatever is in it: no HTML, no markup, no new cell.
std::string escaped(std::string_view text) {
  std::string made;
  for (const char c : printable(text)) {
    if (c == '<')
      made += "&lt;";
    else if (c == '>')
      made += "&gt;";
    else if (c == '&')
      made += "&amp;";
    else if (std::string_view("\\`*_[]|~#!").find(c) != std::string_view::npos)
      made += {'\\', c};
    else
      made += c;
  }
  return made;
}

std::string_view mark(CaseVerdict verdict) {
  switch (verdict) {
    case CaseVerdict::fail:
      return "❌ fail";
    case CaseVerdict::suspect:
      return "⚠️ suspect";
    case CaseVerdict::inconclusive:
      return "❔ inconclusive";
    case CaseVerdict::better:
      return "🎉 better";
    case CaseVerdict::pass:
      return "✅ pass";
  }
  return "";
}

std::string case_line(const CaseComparison& one_case) {
  std::string line = fmt::format("| {} | {} | ", mark(one_case.verdict), escaped(one_case.name));
  if (one_case.effects.empty()) return line + fmt::format("| | | | {} |\n", escaped(one_case.note));
  const auto& [metric, effect] = one_case.effects.front();
  const bool known = effect.problem.empty();
  return line + fmt::format("{} {} | {} | {} | {} | {} |\n", metric_title(metric),
                            metric_text(metric, effect.base), metric_text(metric, effect.other),
                            known ? change_text(effect.ratio) : "",
                            known ? change_text(effect.interval.low) + " to " +
                                        change_text(effect.interval.high)
                                  : "",
                            escaped(one_case.note));
}

/// Adds lines while there is room; then says how many are missing.
class Page {
 public:
  explicit Page(std::string head) : text_(std::move(head)) {}

  void add(const std::string& line) {
    if (left_out_ > 0 || text_.size() + line.size() > kMostBytes)
      ++left_out_;
    else
      text_ += line;
  }

  std::string take() {
    if (left_out_ > 0)
      text_ += fmt::format("\n{} more lines left out: the page would be too long.\n", left_out_);
    return std::move(text_);
  }

 private:
  std::string text_;
  std::size_t left_out_ = 0;
};

}  // namespace

std::string comparison_markdown(const Comparison& comparison) {
  Page page(fmt::format("### {} against {}\n\n{}\n\n", escaped(comparison.other),
                        escaped(comparison.base), tally_text(comparison)));
  for (const std::string& remark : comparison.remarks)
    page.add(fmt::format("> {}\n\n", escaped(remark)));
  page.add(
      "| verdict | case | base | new | change | 95 % interval | note |\n"
      "| --- | --- | --: | --: | --: | --: | --- |\n");
  for (const CaseComparison& one_case : comparison.cases) page.add(case_line(one_case));
  if (!comparison.gates.empty()) page.add("\n| gate | case | finding |\n| --- | --- | --- |\n");
  for (const GateFinding& finding : comparison.gates)
    page.add(fmt::format("| {} {} | {} | {} |\n", mark(finding.verdict), escaped(finding.gate),
                         escaped(finding.name), escaped(finding.text)));
  return page.take();
}

}  // namespace rdmameter
