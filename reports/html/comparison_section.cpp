// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "reports/compare/output.h"
#include "reports/html/case_link.h"
#include "reports/html/escape.h"
#include "reports/html/html_table.h"
#include "reports/html/sections.h"
#include "reports/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMostCases = 3000;  ///< of the tables; the worst come first
constexpr std::size_t kOpenCases = 100;   ///< of the table that is open

/// Ratios from left to right on a logarithmic scale, alike in all lines of the table.
struct Scale {
  static constexpr double kHalf = 60, kHeight = 14;  ///< [px]
  double span;                                       ///< ln(ratio) at either edge
  double x(double ratio) const {
    return kHalf + std::clamp(std::log(ratio) / span, -1.0, 1.0) * (kHalf - 3);
  }
};

/// As wide as the widest interval needs, from 10 % to a factor of two.
Scale scale_of(const Comparison& comparison) {
  double span = std::log(1.1);
  for (const CaseComparison& one : comparison.cases)
    for (const MetricEffect& told : one.effects)
      if (told.effect.problem.empty())
        span = std::max({span, std::abs(std::log(told.effect.interval.low)),
                         std::abs(std::log(told.effect.interval.high))});
  return {std::min(span * 1.1, std::log(2))};
}

/// The interval with the ratio in it, before what is allowed (grey) and "the same" (the line).
std::string drawing(const Effect& effect, double allowed, const Scale& scale) {
  const double left = scale.x(1 / allowed), right = scale.x(allowed);
  return fmt::format(
      "<svg class=interval width={0} height={1} role=img aria-label=\"{2} to {3}\">"
      "<rect x={4:.1f} width={5:.1f} height={1} /><path d=\"M{6} 0V{1}\"/>"
      "<path class=range d=\"M{7:.1f} {8}H{9:.1f}\"/><circle cx={10:.1f} cy={8} r=3 /></svg>",
      2 * Scale::kHalf, Scale::kHeight, markup_text(change_text(effect.interval.low)),
      markup_text(change_text(effect.interval.high)), left, right - left, Scale::kHalf,
      scale.x(effect.interval.low), Scale::kHeight / 2, scale.x(effect.interval.high),
      scale.x(effect.ratio));
}

void add_effect(HtmlTable& table, const MetricEffect& told, double allowed, const Scale& scale) {
  const auto& [metric, effect] = told;
  table.cell(metric_title(metric));
  table.number(metric_text(metric, effect.base));
  table.number(metric_text(metric, effect.other));
  if (!effect.problem.empty()) {
    table.number("–");
    table.cell("");
    return;
  }
  table.number(change_text(effect.ratio));
  table.markup(drawing(effect, allowed, scale));
}

/// @param caption  of the table
std::string cases_table(const PageCases& page, const Comparison& comparison,
                        std::span<const CaseComparison> cases, const char* caption) {
  std::map<std::string_view, const PageCase*> known;
  for (const PageCase& one : page.cases) known.emplace(one.name, &one);
  HtmlTable table(caption);
  for (const char* head : {"verdict", "case", "quantity"}) table.head(head);
  const bool files = page.labels.size() == 2;  // else the two sides of one measuring run
  table.head(files ? page.labels[0] : "a", "", "number");
  table.head(files ? page.labels[1] : "b", "", "number");
  table.head("change", "", "number");
  table.head("95 % interval");
  table.head("note");
  const Scale scale = scale_of(comparison);
  for (const CaseComparison& one : cases) {
    for (std::size_t i = 0; i < std::max<std::size_t>(one.effects.size(), 1); ++i) {
      table.line();
      table.cell(verdict_text(one.verdict), verdict_text(one.verdict));
      const auto found = known.find(one.name);
      table.markup(found == known.end() ? markup_text(one.name) : case_link(*found->second));
      if (i < one.effects.size())
        add_effect(table, one.effects[i], one.allowed, scale);
      else
        for (int k = 0; k < 5; ++k) table.cell("");
      table.cell(i == 0 ? one.note : "");
    }
  }
  return table.empty() ? "" : table.html();
}

/// The first open, the others folded away, since a browser takes seconds to lay out thousands of
/// lines that nobody has asked for.
std::string cases_tables(const PageCases& page, const Comparison& comparison) {
  const std::span<const CaseComparison> all(comparison.cases.data(),
                                            std::min(comparison.cases.size(), kMostCases));
  const auto first = all.first(std::min(all.size(), kOpenCases));
  const auto others = all.subspan(first.size());
  std::string html = cases_table(page, comparison, first, "Cases, the worst first");
  if (!others.empty())
    html += fmt::format("<details><summary>The other {} cases</summary>\n{}</details>\n",
                        others.size(), cases_table(page, comparison, others, "The other cases"));
  return html;
}

std::string gates_table(const Comparison& comparison) {
  HtmlTable table("Gates");
  for (const char* head : {"verdict", "gate", "case", "finding"}) table.head(head);
  for (const GateFinding& finding : comparison.gates) {
    table.line();
    table.cell(verdict_text(finding.verdict), verdict_text(finding.verdict));
    table.cell(finding.gate);
    table.cell(finding.name);
    table.cell(finding.text);
  }
  return table.empty() ? "" : table.html();
}

/// Cases that the other side lacks: how many, and which.
std::string only_in(const std::string& path, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + markup_text(name);
  return fmt::format("<details><summary>{} of {} alone</summary><p class=note>{}</p></details>\n",
                     names.size() == 1 ? "A case" : fmt::format("{} cases", names.size()),
                     markup_text(path), list);
}

std::string_view conclusion_text(Conclusion conclusion) {
  switch (conclusion) {
    case Conclusion::pass:
      return "pass";
    case Conclusion::fail:
      return "fail";
    case Conclusion::inconclusive:
      return "inconclusive";
  }
  return "";
}

}  // namespace

Section comparison_section(const PageCases& page, const Comparison& comparison) {
  const std::string_view conclusion = conclusion_text(comparison.conclusion);
  std::string html = fmt::format(
      "<p class=\"verdict {0}\"><b>{0}</b> <span>{1} against {2}</span> <span>{3}</span></p>\n",
      conclusion, markup_text(comparison.other), markup_text(comparison.base),
      markup_text(tally_text(comparison)));
  for (const std::string& remark : comparison.remarks)
    html += fmt::format("<p class=note>{}</p>\n", markup_text(remark));
  html += only_in(comparison.base, comparison.only_base) +
          only_in(comparison.other, comparison.only_other);
  if (comparison.cases.size() > kMostCases)
    html += fmt::format("<p class=note>The {} worst of {} cases.</p>\n", kMostCases,
                        comparison.cases.size());
  html += gates_table(comparison) + cases_tables(page, comparison);
  return {"comparison", "Comparison", html};
}

}  // namespace rdmameter
