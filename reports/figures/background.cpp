// SPDX-License-Identifier: Apache-2.0
// What traffic beside a case has done to it: medians over the repetitions, as ratios to the same
// case alone.
#include <fmt/format.h>

#include <algorithm>

#include "core/result/row_json.h"
#include "reports/figures/figures.h"
#include "reports/summary/facts.h"
#include "reports/text/case_text.h"

namespace rdmameter {
namespace {

constexpr const char* kBackgroundKey = "background";

/// To the same case alone. Nothing: that was not measured, or one of the two has no such number.
Number ratio_to_alone(const FigureLine& line, Metric metric) {
  const auto value = info_of(metric).value;
  const Number above = median_of(*line.summary, value);
  if (!above) return std::nullopt;
  Json wanted = line.summary->case_object;
  wanted[kBackgroundKey] = "none";
  const auto alone = std::ranges::find_if(
      *line.cases, [&](const CaseSummary* one) { return one->case_object == wanted; });
  const Number below = alone == line.cases->end() ? std::nullopt : median_of(**alone, value);
  return below && *below > 0 ? std::optional(*above / *below) : std::nullopt;
}

std::string ratio_text(const Number& ratio, const char* before = "") {
  return ratio ? fmt::format("{}{:.3g}", before, *ratio) : kUnknown;
}

std::string name_of_background(const FigureLine& line) {
  return printable(text_at(line.summary->case_object, kBackgroundKey));
}

/// Payload in the window of the case, or where that is hardly any, operations.
std::string traffic_text(const FigureLine& line) {
  const auto gbps = median_of(*line.summary, [](const Row& row) {
    return row.background->bytes > 0 ? std::optional(bandwidth_gbps(*row.background))
                                     : std::nullopt;
  });
  if (gbps.value_or(0) >= 1) return fmt::format("{:.3g} Gb/s", *gbps);
  const auto per_s =
      median_of(*line.summary, [](const Row& row) { return background_per_s(*row.background); });
  return fmt::format("{:.3g} k/s", *per_s * 1e-3);
}

/// Of what it did before the case began.
std::string of_alone_text(const FigureLine& line) {
  const auto share = median_of(*line.summary, [](const Row& row) {
    const auto& alone_per_s = row.background->alone_per_s;
    return alone_per_s.value_or(0) > 0
               ? std::optional(background_per_s(*row.background) / *alone_per_s)
               : std::nullopt;
  });
  return share ? fixed(*share * 100, 0) : kUnknown;
}

std::vector<FigureColumn> columns_of_background(const FigureLines&, FigurePlace place) {
  std::vector<FigureColumn> columns{text_column({"its rate"}, traffic_text),
                                    text_column({"of alone", "%"}, of_alone_text)};
  columns.back().missing = "of alone: its rate before the case is not known";
  for (const Metric metric : {Metric::p50, Metric::p99, Metric::gbps})
    columns.push_back(
        text_column({std::string(info_of(metric).name)}, [metric](const FigureLine& line) {
          return ratio_text(ratio_to_alone(line, metric), "×");
        }));
  for (FigureColumn& column : columns) column.unless_unknown = true;
  for (std::size_t i = 2; i < columns.size(); ++i)
    columns[i].missing = "the case alone was not measured, or one of both has no such number";
  if (place == FigurePlace::terminal)
    columns.insert(columns.begin(),
                   text_column({.head = "background", .is_text = true}, name_of_background));
  return columns;
}

/// Distinct texts of the lines, in their order.
std::vector<std::string> texts_of(const FigureLines& lines, const auto& text) {
  std::vector<std::string> all;
  for (const FigureLine& line : lines) add_once(all, text(line));
  return all;
}

}  // namespace

Figures background_figures() {
  return {.title = "beside other traffic",
          .page_title = "Beside other traffic: ratios to the case alone",
          .has = all_have<&Row::background>,
          .parts = [](const Row&) { return std::size_t{1}; },
          .told_axis = kBackgroundKey,
          .columns_of = columns_of_background,
          .remark = [](const FigureLines&) -> std::string {
            return "Its rate: in the window of the case; of alone: of what it did before the case "
                   "began. × of the case alone.";
          },
          .remark_on_page = false};
}

std::string background_matrix(const Group& group, const TextStyle& style) {
  const FigureCases cases = cases_of(group);
  const FigureLines lines = lines_of(background_figures(), cases);
  const auto victim = [&](const FigureLine& line) {
    return name_among(group.varying, *line.summary, kBackgroundKey);
  };
  const auto victims = texts_of(lines, victim), backgrounds = texts_of(lines, name_of_background);
  if (victims.size() < 2 || backgrounds.size() < 2) return "";
  const auto any = [&](Metric metric) {
    return std::ranges::any_of(
        lines, [&](const FigureLine& line) { return ratio_to_alone(line, metric).has_value(); });
  };
  const bool tails = any(Metric::p99) || !any(Metric::p50);  // short cases have too few samples
  Table table{.columns = text_columns({"case"}), .key_columns = 1};
  for (const std::string& one : backgrounds) table.columns.push_back({.head = "×", .unit = one});
  for (const std::string& one : victims) {
    std::vector<Table::Cell> cells{one};
    for (const std::string& other : backgrounds) {
      const auto found = std::ranges::find_if(lines, [&](const FigureLine& line) {
        return victim(line) == one && name_of_background(line) == other;
      });
      Number ratio;
      if (found != lines.end()) ratio = ratio_to_alone(*found, Metric::gbps);
      if (found != lines.end() && !ratio)
        ratio = ratio_to_alone(*found, tails ? Metric::p99 : Metric::p50);
      cells.emplace_back(ratio_text(ratio));
    }
    table.add_line(std::move(cells));
  }
  table.title = fmt::format("{} (of bandwidths Gb/s) beside each, over that alone",
                            tails ? "p99" : "p50, too few samples for p99");
  return titled(table, style, "");
}

}  // namespace rdmameter
