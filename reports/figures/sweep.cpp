// SPDX-License-Identifier: Apache-2.0
// Of sweeps where latency over load bends, and the rates that say so.
#include <fmt/format.h>

#include <map>

#include "reports/figures/figures.h"
#include "reports/stats/sample.h"
#include "reports/summary/metric.h"
#include "reports/text/case_text.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

std::vector<FigureColumn> columns_of_sweep() {
  return mapped(sweep_metrics(), [](const MetricInfo& metric) {
    const bool time = is_time(metric.metric);
    return median_column(metric.name, time ? Unit{"µs", 1e3} : Unit{metric.unit, 1}, time ? 3 : 1,
                         metric.value, "not found by the sweep");
  });
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

std::string remark(const CurvePoint& point, const Number& slo_ns) {
  if (point.saturated) return "saturated";
  return slo_ns && point.p99_ns && *point.p99_ns > *slo_ns ? "beyond the SLO" : "";
}

/// A line for each rate; those beyond the SLO and beyond saturation are said to be.
Table sweep_curve(const CaseSummary& summary) {
  Table table{.columns = {{"rate", "1/s"}, {"reached", "1/s"}, {"p50", "µs"}, {"p99", "µs"}, {}}};
  table.columns.back().is_text = true;
  for (const CurvePoint& point : curve_of(summary))
    table.add_line({point.rate_per_s, fixed(point.reached_per_s, 0),
                    known_text(point.p50_ns, 2, 1e3), known_text(point.p99_ns, 2, 1e3),
                    remark(point, summary.first().sweep->slo_ns)});
  return table;
}

/// Of each case, beneath its axes.
std::string sweep_curves(const Group& group, const TextStyle& style) {
  std::string text;
  for (const CaseSummary& summary : group.cases) {
    Table curve = sweep_curve(summary);
    const std::string axes = case_text(summary.case_object, group.varying);
    curve.title = axes.empty() ? "latency over load" : "latency over load, " + axes;
    text += titled(curve, style);
  }
  return text;
}

/// Of those that have the number.
Number median_of_points(const std::vector<SweepPoint>& points, Number SweepPoint::*number) {
  std::vector<double> values;
  for (const SweepPoint& point : points)
    if (point.*number) values.push_back(*(point.*number));
  return known_median(values);
}

/// @param measured  at that rate, not empty
CurvePoint curve_point(std::uint64_t rate_per_s, const std::vector<SweepPoint>& measured) {
  const auto kept_up = filtered(measured, [](const SweepPoint& one) { return !one.saturated; });
  return {.rate_per_s = rate_per_s,
          .reached_per_s = median(mapped(measured, &SweepPoint::reached_per_s)),
          .p50_ns = median_of_points(kept_up, &SweepPoint::p50_ns),
          .p99_ns = median_of_points(kept_up, &SweepPoint::p99_ns),
          .saturated = 2 * kept_up.size() <= measured.size()};
}

}  // namespace

Figures sweep_figures() {
  return {.page_title = "Where latency over load bends",
          .has = all_have<&Row::sweep>,
          .by_axes = true,
          .columns = columns_of_sweep(),
          .remark = sweep_remarks,
          .beneath = sweep_curves,
          .csv = csv_of_metrics("sweep_", sweep_metrics()),
          .csv_early = 3};
}

std::vector<CurvePoint> curve_of(const CaseSummary& summary) {
  std::map<std::uint64_t, std::vector<SweepPoint>> by_rate;
  for (const Row* row : summary.repetitions)
    for (const SweepPoint& point : row->sweep->points)
      if (point.p50_ns) by_rate[point.rate_per_s].push_back(point);
  return mapped(by_rate, [](const auto& rate) { return curve_point(rate.first, rate.second); });
}

}  // namespace rdmameter
