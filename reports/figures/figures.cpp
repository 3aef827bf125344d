// SPDX-License-Identifier: Apache-2.0
#include "reports/figures/figures.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iterator>

#include "reports/summary/facts.h"
#include "reports/text/case_text.h"
#include "reports/text/text.h"

namespace rdmameter {

// Each in a file of its own.
Figures over_time_figures();
Figures blame_figures();
Figures load_figures();
Figures mix_figures();
Figures sweep_figures();
Figures per_qp_figures();
Figures background_figures();
Figures per_device_figures();

namespace {

/// Medians, half their range as notes of repeated cases.
std::vector<Table::Cell> median_cells(const FigureColumn& column, const FigureLines& lines) {
  std::vector<std::optional<Spread>> spreads;
  std::vector<double> known;
  for (const FigureLine& line : lines) {
    spreads.push_back(spread(*line.summary, column.number));
    if (spreads.back()) known.push_back(spreads.back()->median / column.unit.size);
  }
  if (known.empty()) return {};
  const int decimals = column.max_decimals == 0 ? 0 : decimals_for(known, column.max_decimals);
  const auto shown = [&](const std::optional<Spread>& of, auto number) {
    return of ? fixed(std::invoke(number, *of) / column.unit.size, decimals) : kUnknown;
  };
  std::vector<Table::Cell> cells;
  for (std::size_t i = 0; i < lines.size(); ++i)
    cells.emplace_back(
        shown(spreads[i], &Spread::median),
        lines[i].summary->repetitions.size() > 1 ? shown(spreads[i], &Spread::half_range) : "");
  return cells;
}

std::vector<Table::Cell> text_cells(const FigureColumn& column, const FigureLines& lines) {
  std::vector<Table::Cell> cells;
  for (const FigureLine& line : lines) cells.emplace_back(column.text(line));
  const auto tells = [&](const Table::Cell& cell) {
    return !cell.text.empty() && cell.text != kUnknown && !(column.unless_zero && cell.text == "0");
  };
  if (column.unless_unknown && std::ranges::none_of(cells, tells)) cells.clear();
  return cells;
}

/// A line for each case: the axes that vary; where cases are repeated at least one column, for the
/// sign of their ranges.
Table key_table(const Group& group) {
  Table table;
  std::vector<std::string> keys = group.varying;
  if (std::ranges::any_of(group.cases,
                          [](const CaseSummary& one) { return one.repetitions.size() > 1; })) {
    table.note_sign = "±";
    if (keys.empty()) keys.emplace_back();
  }
  for (const std::string& key : keys) {
    const auto [name, unit] = split_key(key);
    Table::Column column{name, unit};
    column.is_text = key == "test" || key == "transport";
    for (const CaseSummary& summary : group.cases) {
      const auto& value = fact_at(summary.case_object, key);
      if (value.is_string()) column.unit.clear();  // "sweep", "10Gb/s"
      column.cells.emplace_back(value_text(value));
    }
    table.columns.push_back(std::move(column));
  }
  table.key_columns = table.columns.size();
  return table;
}

Table named_lines(const Figures& figures, const Group& group, const FigureLines& lines) {
  Table table{.columns = text_columns({"case"}),
              .key_columns = figures.parts == nullptr ? 1U : 2U,
              .note_sign = "±"};
  for (const FigureLine& line : lines)
    table.add_line({name_among(group.varying, *line.summary, figures.told_axis)});
  return table;
}

/// Beneath a table of medians what its signs mean; empty: it has none.
/// @param dashes  of add_figures()
std::string legend(const Group& group, const Table& table, const std::string& dashes) {
  const auto [least, most] = std::ranges::minmax(
      mapped(group.cases, [](const CaseSummary& one) { return one.repetitions.size(); }));
  std::string text;
  if (any_noted(table))
    text +=
        fmt::format("Medians of {} repetitions; ± is half their range. ",
                    least == most ? std::to_string(most) : fmt::format("{} to {}", least, most));
  if (!dashes.empty()) text += dashes + " ";
  if (most > 1 && std::ranges::count(table.columns, "lost", &Table::Column::head) > 0)
    text += "Lost: all repetitions together. ";
  return text;
}

}  // namespace

FigureColumn text_column(Table::Column column, std::function<std::string(FigureLine)> text) {
  return {.column = std::move(column), .text = std::move(text)};
}

FigureColumn median_column(std::string_view head, const Unit& unit, int max_decimals,
                           RowNumber number, std::string_view missing) {
  return {.column = {.head = std::string(head), .unit = std::string(unit.name)},
          .number = std::move(number),
          .unit = unit,
          .max_decimals = max_decimals,
          .missing = missing};
}

FigureColumn count_column(const char* head, RowNumber number) {
  return text_column({.head = head, .optional = true}, [number](FigureLine line) {
    return fixed(*median_of(*line.summary, number), 0);
  });
}

FigureColumn sum_column(const char* head,
                        std::function<std::optional<std::uint64_t>(const Row&)> number,
                        bool unless_zero) {
  FigureColumn column = text_column({.head = head}, [number](FigureLine line) {
    std::optional<std::uint64_t> sum;
    for (const Row* row : line.summary->repetitions)
      if (const auto value = number(*row)) sum = sum.value_or(0) + *value;
    return sum ? std::to_string(*sum) : "";
  });
  column.unless_unknown = true;
  column.unless_zero = unless_zero;
  return column;
}

std::vector<FigureCsv> csv_of_keys(std::string_view prefix, std::string_view object,
                                   std::initializer_list<std::string_view> keys,
                                   std::string_view unit) {
  return mapped(keys, [&](std::string_view key) -> FigureCsv {
    return {fmt::format("{}{}{}", prefix, key, unit), fmt::format("{}/{}", object, key)};
  });
}

std::vector<FigureCsv> csv_of_metrics(std::string_view prefix, std::span<const MetricInfo> infos) {
  return mapped(infos, [&](const MetricInfo& info) -> FigureCsv {
    std::string pointer = fmt::format("/{}", info.path);  // no dot is in a name: not of latencies
    std::ranges::replace(pointer, '.', '/');
    return {fmt::format("{}{}", prefix, info.key), pointer};
  });
}

std::span<const Figures> figures() {
  static const std::array kAll{per_device_figures(), over_time_figures(), load_figures(),
                               mix_figures(),        sweep_figures(),     per_qp_figures(),
                               blame_figures(),      background_figures()};
  return kAll;
}

FigureCases cases_of(const Group& group) {
  return mapped(group.cases, [](const CaseSummary& summary) { return &summary; });
}

FigureLines lines_of(const Figures& figures, const CaseSummary& summary, const FigureCases& cases) {
  if (!figures.has(summary)) return {};
  const std::size_t parts = figures.parts == nullptr ? 1 : figures.parts(summary.first());
  FigureLines lines;
  for (std::size_t part = 0; part < parts; ++part) lines.push_back({&summary, &cases, part});
  return lines;
}

FigureLines lines_of(const Figures& figures, const FigureCases& cases) {
  FigureLines lines;
  for (const CaseSummary* summary : cases)
    std::ranges::copy(lines_of(figures, *summary, cases), std::back_inserter(lines));
  return lines;
}

std::string dash_text(std::string_view reasons) {
  return reasons.empty() ? "" : fmt::format("{}: {}.", kUnknown, reasons);
}

std::string add_figures(Table& table, const Figures& figures, const FigureLines& lines,
                        FigurePlace place) {
  std::vector<std::string> reasons;
  auto columns = figures.columns_of ? figures.columns_of(lines, place) : figures.columns;
  for (FigureColumn& each : columns) {
    if (each.number && each.unless_zero &&
        !any_row(lines, [&](const Row& row) { return each.number(row).value_or(0) > 0; }))
      continue;
    each.column.cells = each.number ? median_cells(each, lines) : text_cells(each, lines);
    if (std::ranges::count(each.column.cells, kUnknown, &Table::Cell::text) > 0)
      add_once(reasons, each.missing.empty()
                            ? fmt::format("{} is not in the result", each.column.head)
                            : std::string(each.missing));
    if (!each.column.cells.empty()) table.columns.push_back(std::move(each.column));
  }
  return dash_text(fmt::format("{}", fmt::join(reasons, "; ")));
}

std::string figures_text(const Figures& figures, const Group& whole, const TextStyle& style) {
  Group group = whole;
  std::erase_if(group.cases, [&](const CaseSummary& summary) { return !figures.has(summary); });
  if (group.cases.empty()) return "";
  const FigureCases cases = cases_of(whole);
  const FigureLines lines = lines_of(figures, cases);
  Table table = figures.by_axes ? key_table(group) : named_lines(figures, group, lines);
  const std::size_t keys = table.columns.size();
  const std::string dashes = add_figures(table, figures, lines, FigurePlace::terminal);
  const std::string remark = note_text(figures.remark ? figures.remark(lines) : "", style);
  if (table.columns.size() == keys) return remark;  // no number at all
  std::string text = render(table, style) + remark + note_text(legend(group, table, dashes), style);
  if (!figures.title.empty()) text = chapter("  " + figures.title, text, style);
  return figures.beneath == nullptr ? text : text + figures.beneath(group, style);
}

}  // namespace rdmameter
