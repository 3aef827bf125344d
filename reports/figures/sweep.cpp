// SPDX-License-Identifier: Apache-2.0
// Of sweeps where latency over load bends, and the rates that say so.
#include "reports/figures/sweep.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "reports/figures/figures.h"
#include "reports/stats/sample.h"
#include "reports/summary/unit.h"
#include "reports/text/case_text.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

std::vector<FigureColumn> columns_of_sweep() {
  std::vector<FigureColumn> columns;
  for (const MetricInfo& metric : sweep_metrics()) {
    const bool time = is_time(metric.metric);
    columns.push_back(median_column(metric.name, time ? Unit{"µs", 1e3} : Unit{metric.unit, 1},
                                    time ? 3 : 1, metric.value));
  }
  return columns;
}

std::string sweep_remarks(const FigureLines& lines) {
  std::size_t sweeps = 0, ended = 0, endless = 0, few = 0;
  bool any_zero = false, any_below = false;
  for (const FigureLine& line : lines)
    for (const Row* row : line.summary->repetitions) {
      const SweepData& data = *row->sweep;
      ++sweeps;
      if (row->interrupted)
        ++ended;
      else if (!data.saturation_per_s)
        ++endless;
      else if (!data.unloaded_p99_ns)
        ++few;
      any_zero = any_zero || data.slo_rate_per_s == 0.0;
      any_below = any_below || data.slo_missed_below;
    }
  std::string remarks;
  const auto add = [&](std::size_t count, const char* what, const char* why) {
    if (count == 0) return;
    remarks += sweeps == 1 ? what : fmt::format("{} in {} of {} sweeps", what, count, sweeps);
    remarks += fmt::format(": {} ", why);
  };
  add(endless, "No saturation",
      "the highest rate that was offered was still reached. On a busy machine, repeat with more "
      "--iterations.");
  add(few, "No p99 without load", "too few requests; take --iterations 1000 or more.");
  add(ended, "Not all was found", "the sweep was interrupted.");
  if (any_zero) remarks += "Rate 0: p99 is beyond the SLO without load, too. ";
  if (any_below)
    remarks += "A lower rate than the one found is beyond the SLO, too: there is no single bend. ";
  return remarks;
}

/// Of each case, beneath its axes.
std::string sweep_curves(const Group& group, const TextStyle& style) {
  std::string text;
  for (const CaseSummary& summary : group.cases) {
    const std::string axes = case_text(summary.case_object, group.varying);
    const std::string title = axes.empty() ? "latency over load" : "latency over load, " + axes;
    if (const std::string curve = sweep_curve(summary, style); !curve.empty())
      text += "\n" + bold("  " + title, style) + "\n" + curve;
  }
  return text;
}

std::optional<double> middle_of(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

struct Measured {
  std::vector<double> reached, p50, p99;
  std::size_t saturated = 0;

  void add(const SweepPoint& point) {
    reached.push_back(point.reached_per_s);
    if (point.saturated) {
      ++saturated;
      return;
    }
    if (point.p50_ns) p50.push_back(*point.p50_ns);
    if (point.p99_ns) p99.push_back(*point.p99_ns);
  }

  CurvePoint point(std::uint64_t rate_per_s) const {
    return {.rate_per_s = rate_per_s,
            .reached_per_s = middle_of(reached).value_or(0),
            .p50_ns = middle_of(p50),
            .p99_ns = middle_of(p99),
            .saturated = 2 * saturated >= reached.size()};
  }
};

std::string microseconds(const std::optional<double>& ns) {
  return ns ? fixed(*ns / 1e3, 2) : std::string(kUnknown);
}

std::string remark(const CurvePoint& point, const std::optional<double>& slo_ns) {
  if (point.saturated) return "saturated";
  return slo_ns && point.p99_ns && *point.p99_ns > *slo_ns ? "beyond the SLO" : "";
}

}  // namespace

Figures sweep_figures() {
  return {.page_title = "Where latency over load bends",
          .has = all_have<&Row::sweep>,
          .by_axes = true,
          .columns = always(columns_of_sweep()),
          .remark = sweep_remarks,
          .beneath = sweep_curves,
          .csv = csv_of_metrics("sweep_", sweep_metrics())};
}

std::vector<CurvePoint> curve_of(const CaseSummary& summary) {
  std::map<std::uint64_t, Measured> by_rate;
  for (const Row* row : summary.repetitions)
    for (const SweepPoint& point : row->sweep->points)
      if (point.p50_ns) by_rate[point.rate_per_s].add(point);
  std::vector<CurvePoint> curve;
  for (const auto& [rate_per_s, measured] : by_rate) curve.push_back(measured.point(rate_per_s));
  return curve;
}

std::string sweep_curve(const CaseSummary& summary, const TextStyle& style) {
  std::vector<Table::Column> columns{{.head = "rate", .unit = "1/s"},
                                     {.head = "reached", .unit = "1/s"},
                                     {.head = "p50", .unit = "µs"},
                                     {.head = "p99", .unit = "µs"},
                                     {.head = ""}};
  columns.back().is_text = true;
  for (const CurvePoint& point : curve_of(summary)) {
    const std::array<std::string, 5> cells{
        std::to_string(point.rate_per_s), fixed(point.reached_per_s, 0), microseconds(point.p50_ns),
        microseconds(point.p99_ns), remark(point, summary.repetitions.front()->sweep->slo_ns)};
    for (std::size_t i = 0; i < cells.size(); ++i) columns[i].cells.emplace_back(cells[i]);
  }
  if (columns.front().cells.empty()) return "";
  return render({.columns = std::move(columns)}, style);
}

}  // namespace rdmameter
