// SPDX-License-Identifier: Apache-2.0
#include "reports/figures/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "reports/text/case_text.h"
#include "reports/text/result_tables.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

void add_column(Table& table, const FigureColumn& described, const FigureLines& lines) {
  if (described.number) {
    std::vector<const CaseSummary*> cases;
    for (const FigureLine& line : lines) cases.push_back(line.summary);
    const auto above_zero = [&](const Row* row) { return described.number(*row).value_or(0) > 0; };
    if (described.unless_zero && std::ranges::none_of(cases, [&](const CaseSummary* summary) {
          return std::ranges::any_of(summary->repetitions, above_zero);
        }))
      return;
    add_medians(table, cases, described.column, described.unit, described.max_decimals,
                described.number);
    return;
  }
  Table::Column column = described.column;
  for (const FigureLine& line : lines) column.cells.emplace_back(described.text(line));
  const auto known = [](const Table::Cell& cell) { return cell.text != kUnknown; };
  if (!described.unless_unknown || std::ranges::any_of(column.cells, known))
    table.columns.push_back(std::move(column));
}

Table named_lines(const Figures& figures, const Group& group, const FigureLines& lines) {
  Table table;
  table.columns = text_columns({"case"});
  table.key_columns = figures.parts == nullptr ? 1 : 2;
  for (const FigureLine& line : lines) table.add_line({name_in_group(group, *line.summary)});
  return table;
}

}  // namespace

FigureColumn text_column(Table::Column column, std::function<std::string(FigureLine)> text) {
  return {.column = std::move(column), .text = std::move(text)};
}

FigureColumn median_column(std::string_view head, const Unit& unit, int max_decimals,
                           std::function<std::optional<double>(const Row&)> number) {
  return {.column = {.head = std::string(head), .unit = std::string(unit.name)},
          .number = std::move(number),
          .unit = unit,
          .max_decimals = max_decimals};
}

std::vector<FigureCsv> csv_of_keys(std::string_view prefix, std::string_view object,
                                   std::initializer_list<std::string_view> keys,
                                   std::string_view unit) {
  std::vector<FigureCsv> list;
  for (const std::string_view key : keys)
    list.push_back({fmt::format("{}{}{}", prefix, key, unit), fmt::format("{}/{}", object, key)});
  return list;
}

std::vector<FigureCsv> csv_of_metrics(std::string_view prefix, std::span<const MetricInfo> infos) {
  std::vector<FigureCsv> list;
  for (const MetricInfo& info : infos) {
    std::string object(info.group);
    std::ranges::replace(object, '.', '/');
    list.push_back(
        {fmt::format("{}{}", prefix, info.key), fmt::format("/{}/{}", object, info.field)});
  }
  return list;
}

std::span<const Figures> figures() {
  static const std::array kAll{over_time_figures(), load_figures(),   mix_figures(),
                               sweep_figures(),     per_qp_figures(), blame_figures()};
  return kAll;
}

FigureLines lines_of(const Figures& figures, const CaseSummary& summary) {
  const std::size_t parts =
      figures.parts == nullptr ? 1 : figures.parts(*summary.repetitions.front());
  FigureLines lines;
  for (std::size_t part = 0; part < parts; ++part) lines.push_back({&summary, part});
  return lines;
}

void add_figures(Table& table, const Figures& figures, const FigureLines& lines) {
  for (const FigureColumn& column : figures.columns) add_column(table, column, lines);
}

std::string figures_text(const Figures& figures, const Group& whole, const TextStyle& style) {
  if (std::ranges::none_of(whole.cases, figures.has)) return "";
  Group group = whole;
  std::erase_if(group.cases, [&](const CaseSummary& summary) { return !figures.has(summary); });
  FigureLines lines;
  for (const CaseSummary& summary : group.cases)
    for (const FigureLine& line : lines_of(figures, summary)) lines.push_back(line);
  Table table = figures.by_axes ? key_table(group) : named_lines(figures, group, lines);
  const std::size_t keys = table.columns.size();
  add_figures(table, figures, lines);
  std::string remark = figures.remark == nullptr ? "" : figures.remark(lines);
  if (!remark.empty()) remark = dim(wrap("  ", remark, style.width), style);
  if (table.columns.size() == keys) return remark;  // no number at all
  std::string text;
  if (!figures.title.empty()) text = "\n" + bold("  " + std::string(figures.title), style) + "\n";
  text += render(table, style) + remark;
  if (figures.by_axes) text += legend(group, table, style);
  return figures.beneath == nullptr ? text : text + figures.beneath(group, style);
}

}  // namespace rdmameter
