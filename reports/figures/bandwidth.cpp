// SPDX-License-Identifier: Apache-2.0
// Rates of cases: payload and messages, their share of the line, what was lost on the way.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/result/row_json.h"
#include "reports/figures/figures.h"
#include "reports/summary/line_rate.h"

namespace rdmameter {
namespace {

constexpr Metric kCompletions[] = {Metric::p50, Metric::p99};

/// Of an empty window 0.
RowNumber rate_of(Metric metric) {
  return [value = info_of(metric).value](const Row& row) { return value(row).value_or(0); };
}

Unit unit_of(Metric metric, const FigureLines& lines) {
  double largest = 0;
  for (const FigureLine& line : lines)
    largest = std::max(largest, median_of(*line.summary, rate_of(metric)).value_or(0));
  return rate_unit(metric, largest);
}

std::vector<FigureColumn> page_columns(const FigureLines& lines) {
  return mapped(std::array{Metric::gbps, Metric::mmsg_per_s}, [&](Metric metric) {
    return median_column(info_of(metric).name, unit_of(metric, lines), 4, rate_of(metric));
  });
}

std::optional<std::uint64_t> lost(const Row& row) {
  return bandwidth_lost(*row.bandwidth);
}

bool have_completions(const FigureLines& lines) {
  return std::ranges::all_of(
      lines, [](const FigureLine& line) { return all_have<&Row::latency>(*line.summary); });
}

std::vector<FigureColumn> terminal_columns(const FigureLines& lines, const LinkRate& link) {
  std::vector<FigureColumn> columns{count_column(
      "messages", [](const Row& row) { return static_cast<double>(row.bandwidth->messages); })};
  for (const Metric metric : {Metric::gbps, Metric::mib_per_s, Metric::mmsg_per_s}) {
    const Unit unit = unit_of(metric, lines);
    columns.push_back(median_column(unit.name, unit, 4, rate_of(metric)));
    columns.back().column.unit.clear();
    columns.back().column.optional = metric == Metric::mib_per_s;
    if (metric == Metric::gbps)
      columns.push_back(median_column(
          "of line", {"%", 1}, 1, [link](const Row& row) { return line_percent(link, row); },
          "of line: the messages pass no link of a known rate"));
  }
  if (any_row(lines, [](const Row& row) { return lost(row).value_or(0) > 0; })) {
    columns.push_back(sum_column("sent", [](const Row& row) { return row.bandwidth->sent; }));
    columns.back().column.optional = true;
    columns.push_back(
        sum_column("received", [](const Row& row) { return row.bandwidth->received; }));
    columns.back().column.optional = true;
  }
  columns.push_back(sum_column("lost", lost));
  columns.push_back(sum_column(
      "duplicated", [](const Row& row) { return row.bandwidth->duplicated; }, true));
  columns.push_back(sum_column(
      "reordered", [](const Row& row) { return row.bandwidth->reordered; }, true));
  if (have_completions(lines))
    std::ranges::move(latency_columns(lines, kCompletions), std::back_inserter(columns));
  return columns;
}

/// "Counted by the receiver: send_bw over UC and UD."
std::string told_of(const char* what, const FigureLines& lines,
                    bool (*holds)(const BandwidthData&)) {
  std::string list;
  std::size_t held = 0;
  for (const FigureLine& line : lines) {
    const Row& row = line.summary->first();
    if (!holds(*row.bandwidth)) continue;
    ++held;
    const std::string name =
        printable(test_of(row)) + " over " + upper_case(printable(transport_of(row)));
    if (list.find(name) == list.npos) add_item(list, name);
  }
  if (held == 0) return "";
  return held == lines.size() ? fmt::format("{}. ", what) : fmt::format("{}: {}. ", what, list);
}

std::string rates_remark(const FigureLines& lines, const LinkRate& link) {
  std::string doubt, completions;
  any_row(lines, [&](const Row& row) {
    doubt = line_doubt(link, row);
    return !doubt.empty();
  });
  if (!doubt.empty()) doubt += ' ';
  if (have_completions(lines))
    for (const Metric metric : kCompletions)
      if (std::ranges::any_of(lines, [&](const FigureLine& line) {
            return median_of(*line.summary, info_of(metric).value).has_value();
          }))
        add_item(completions, info_of(metric).name);
  if (!completions.empty()) completions += ": of completions. ";
  return doubt + completions +
         told_of(
             "Injected (a plain UC write leaves no trace at the receiver; what arrived is unknown)",
             lines, [](const BandwidthData& data) { return data.injected; }) +
         told_of("Counted by the receiver", lines,
                 [](const BandwidthData& data) {
                   return !data.injected && data.counted_by == BandwidthData::CountedBy::receiver;
                 }) +
         told_of("Short window (few messages beside those under way; rate of the whole traffic)",
                 lines, [](const BandwidthData& data) { return data.short_window; });
}

}  // namespace

Figures bandwidth_figures(const LinkRate& link) {
  return {.page_title = "Bandwidth",
          .has = all_have<&Row::bandwidth>,
          .by_axes = true,
          .columns_of =
              [link](const FigureLines& lines, FigurePlace place) {
                return place == FigurePlace::page ? page_columns(lines)
                                                  : terminal_columns(lines, link);
              },
          .remark = [link](const FigureLines& lines) { return rates_remark(lines, link); },
          .remark_on_page = false};
}

}  // namespace rdmameter
