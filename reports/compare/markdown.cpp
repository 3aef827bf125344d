// SPDX-License-Identifier: Apache-2.0
// A comparison as a page of a CI's summary.
#include <fmt/format.h>

#include "reports/compare/output.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMaxBytes = 1'000'000;  ///< GitHub refuses a step summary above 1 MiB

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

std::string_view mark(Conclusion conclusion) {
  switch (conclusion) {
    case Conclusion::pass:
      return "✅";
    case Conclusion::fail:
      return "❌";
    case Conclusion::not_proven:
      return "🟡";
  }
  return "";
}

Table markdown_cases(const Comparison& comparison) {
  Table table{text_columns(
      {"verdict", "case", "quantity", "base", "new", "change", "95 % interval", "note"})};
  for (const std::size_t number : {3U, 4U, 5U, 6U}) table.columns[number].is_text = false;
  for (const CaseComparison& test_case : comparison.cases) {
    std::vector<Table::Cell> cells =
        effect_cells(test_case.effects.empty() ? nullptr : &test_case.effects.front());
    cells.insert(cells.begin(),
                 {Table::Cell(mark(test_case.verdict)), Table::Cell(test_case.name)});
    cells.emplace_back(test_case.note);
    table.add_line(std::move(cells));
  }
  return table;
}

Table markdown_gates(const Comparison& comparison) {
  Table table{text_columns({"gate", "case", "finding"})};
  for (const GateFinding& finding : comparison.gates)
    table.add_line(
        {fmt::format("{} {}", mark(finding.verdict), finding.gate), finding.name, finding.text});
  return table;
}

/// A case that nothing judges any more must not vanish in silence.
Table markdown_lonely(const Comparison& comparison) {
  Table table{text_columns({"only in", "case"})};
  for (const std::string& name : comparison.only_base) table.add_line({"BASE: not judged", name});
  for (const std::string& name : comparison.only_other) table.add_line({"NEW: not judged", name});
  return table;
}

/// Adds lines while there is room; then says how many are missing.
class Page {
 public:
  explicit Page(std::string head) : text_(std::move(head)) {}

  void add(const std::string& line) {
    if (left_out_ > 0 || text_.size() + line.size() > kMaxBytes)
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
  Page page(fmt::format("### {} {}: {} against {}\n\n{}\n\n", mark(comparison.conclusion),
                        conclusion_text(comparison.conclusion), markdown_text(comparison.other),
                        markdown_text(comparison.base), tally_text(comparison)));
  for (const std::string& remark : comparison.remarks)
    page.add(fmt::format("> {}\n\n", markdown_text(remark)));
  const auto add = [&page](const Table& table) {
    for (const std::string& line : markdown_lines(table)) page.add(line);
  };
  add(markdown_cases(comparison));
  if (const std::string estimates = estimates_text(comparison); !estimates.empty())
    page.add(fmt::format("\n{}\n", markdown_text(estimates)));
  for (const Table& table : {markdown_gates(comparison), markdown_lonely(comparison)}) {
    if (table.lines() == 0) continue;
    page.add("\n");
    add(table);
  }
  return page.take();
}

}  // namespace rdmameter
