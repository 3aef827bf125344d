// SPDX-License-Identifier: Apache-2.0
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <span>

#include "reports/compare/output.h"
#include "reports/html/html_table.h"
#include "reports/html/page_cases.h"
#include "reports/html/sections.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxCasesCompared = 3000;  ///< of the tables; the worst come first
constexpr std::size_t kOpenCases = 100;          ///< of the table that is open

/// Ratios from left to right on a logarithmic scale, alike in all lines of the table.
struct Scale {
  static constexpr double kHalf = 60, kHeight = 14;  ///< [px]
  double span;                                       ///< ln(ratio) at either edge
  double x(double ratio) const {
    return kHalf + std::clamp(std::log(ratio) / span, -1.0, 1.0) * (kHalf - 3);
  }
};

using VerdictLines = std::span<const VerdictLine>;

/// As wide as the widest interval needs, from 10 % to a factor of two.
Scale scale_of(VerdictLines lines) {
  double span = std::log(1.1);
  for (const VerdictLine& line : lines)
    for (const Effect& told : line.effects)
      if (told.problem.empty())
        span = std::max(
            {span, std::abs(std::log(told.interval.low)), std::abs(std::log(told.interval.high))});
  return {std::min(span * 1.1, std::log(2))};
}

/// The interval with the ratio in it, before the floor (grey) and "the same" (the line).
std::string drawing(const Effect& effect, const Scale& scale) {
  const double left = scale.x(1 / effect.floor), right = scale.x(effect.floor);
  return fmt::format(
      "<svg class=interval width={0} height={1} role=img aria-label=\"{2} to {3}\">"
      "<rect x={4:.1f} width={5:.1f} height={1} /><path d=\"M{6} 0V{1}\"/>"
      "<path class=range d=\"M{7:.1f} {8}H{9:.1f}\"/><circle cx={10:.1f} cy={8} r=3 /></svg>",
      2 * Scale::kHalf, Scale::kHeight, markup_text(change_text(effect.interval.low)),
      markup_text(change_text(effect.interval.high)), left, right - left, Scale::kHalf,
      scale.x(effect.interval.low), Scale::kHeight / 2, scale.x(effect.interval.high),
      scale.x(effect.ratio));
}

/// @param caption  of the table
std::string cases_table(const PageCases& page, VerdictLines lines, const Scale& scale,
                        const char* caption) {
  std::map<std::string_view, const PageCase*> known;
  for (const PageCase& one : page.cases) known.emplace(one.name, &one);
  const bool files = page.labels.size() == 2;  // else the two sides of one measuring run
  Table table{text_columns({"verdict", "case", "quantity", files ? page.labels[0] : "a",
                            files ? page.labels[1] : "b", "change", "95 % interval", "note"})};
  for (const std::size_t number : {3U, 4U, 5U}) table.columns[number].is_text = false;
  for (const VerdictLine& line : lines) {
    for (std::size_t i = 0; i < std::max<std::size_t>(line.effects.size(), 1); ++i) {
      const Effect* told = i < line.effects.size() ? &line.effects[i] : nullptr;
      // The case's, which is not its times' alone, and beneath it those of its other metrics.
      const std::string_view verdict =
          name_in(kVerdictNames, i == 0 ? line.verdict : told->verdict);
      const auto found = known.find(line.name);
      std::vector<Table::Cell> cells = effect_cells(told);
      if (told != nullptr && told->problem.empty())
        cells.back() = Table::Cell::markup(drawing(*told, scale));
      cells.insert(cells.begin(),
                   {Table::Cell::marked(verdict, verdict),
                    found == known.end() ? Table::Cell(shorten_name(line.name, page.common))
                                         : Table::Cell::markup(case_link(*found->second))});
      cells.emplace_back(i == 0 ? line.note : "");
      table.add_line(std::move(cells));
    }
  }
  return html_table(table, caption);
}

/// The first open, the others folded away, since a browser takes seconds to lay out thousands of
/// lines that the reader has not opened.
std::string cases_tables(const PageCases& page, const Comparison& comparison) {
  const std::vector<VerdictLine> all = verdict_table(comparison);
  const Scale scale = scale_of(all);
  const auto told = VerdictLines(all).first(std::min(all.size(), kMaxCasesCompared));
  const auto first = told.first(std::min(told.size(), kOpenCases));
  const auto others = told.subspan(first.size());
  std::string html = cases_table(page, first, scale, "Cases, the worst first");
  if (!others.empty())
    html += fmt::format("<details><summary>The other {} cases</summary>\n{}</details>\n",
                        others.size(), cases_table(page, others, scale, "The other cases"));
  return html;
}

std::string gates_table(const Comparison& comparison) {
  Table table{text_columns({"verdict", "gate", "case", "finding"})};
  for (const GateFinding& one : comparison.gates) {
    const std::string_view verdict = name_in(kVerdictNames, one.verdict);
    table.add_line({Table::Cell::marked(verdict, verdict), one.gate, one.name, one.text});
  }
  return html_table(table, "Gates");
}

/// Cases that the other side lacks: how many, and which.
std::string only_in(const std::string& path, const std::vector<std::string>& names) {
  if (names.empty()) return "";
  return fmt::format("<details><summary>{} of {} alone</summary><p class=note>{}</p></details>\n",
                     names.size() == 1 ? "A case" : fmt::format("{} cases", names.size()),
                     markup_text(path), fmt::join(mapped(names, markup_text), ", "));
}

}  // namespace

Section comparison_section(const PageCases& page, const Comparison& comparison) {
  const std::string_view conclusion = name_in(kConclusionNames, comparison.conclusion);
  std::string html = fmt::format(
      "<p class=\"verdict {0}\"><b>{1}</b> <span>{2} against {3}</span> <span>{4}</span></p>\n",
      comparison.conclusion == Conclusion::not_proven ? "inconclusive" : conclusion,  // its class
      conclusion, markup_text(comparison.other), markup_text(comparison.base),
      markup_text(tally_text(comparison)));
  for (const std::string& remark : comparison.remarks) html += note_html(remark);
  html += only_in(comparison.base, comparison.only_base) +
          only_in(comparison.other, comparison.only_other);
  if (comparison.cases.size() > kMaxCasesCompared)
    html += fmt::format("<p class=note>The {} worst of {} cases.</p>\n", kMaxCasesCompared,
                        comparison.cases.size());
  html += gates_table(comparison) + cases_tables(page, comparison) +
          note_html(estimates_text(comparison));
  return {"comparison", "Comparison", html};
}

}  // namespace rdmameter
