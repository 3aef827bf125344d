// SPDX-License-Identifier: Apache-2.0
// Of sweeps where latency over load bends, and the rates that say so.
#include <fmt/format.h>

#include "reports/figures/figures.h"
#include "reports/text/case_text.h"
#include "reports/text/sweep_curve.h"
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

}  // namespace

Figures sweep_figures() {
  return {.page_title = "Where latency over load bends",
          .has = all_have<&Row::sweep>,
          .by_axes = true,
          .columns = columns_of_sweep(),
          .remark = sweep_remarks,
          .beneath = sweep_curves,
          .csv = csv_of_metrics("sweep_", sweep_metrics())};
}

}  // namespace rdmameter
