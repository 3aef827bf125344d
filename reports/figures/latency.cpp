// SPDX-License-Identifier: Apache-2.0
// Latencies of cases: percentiles, and what was lost.
#include <algorithm>
#include <cmath>

#include "reports/figures/figures.h"

namespace rdmameter {
namespace {

constexpr Metric kLatencies[] = {Metric::min,   Metric::p50,    Metric::p90, Metric::p99,
                                 Metric::p99_9, Metric::p99_99, Metric::max, Metric::mean};

/// By the quickest case, so that none loses its digits.
Unit latency_unit(const FigureLines& lines) {
  double typical = INFINITY;
  for (const FigureLine& line : lines)
    for (const Row* row : line.summary->repetitions) {
      const LatencySummary latency = summarize(row->latency->histogram, latency_divisor(*row));
      if (latency.count > 0) typical = std::min(typical, latency.p50.value_or(latency.mean));
    }
  return time_unit(std::isinf(typical) ? 1000 : typical);
}

std::vector<FigureColumn> columns_of_latency(const FigureLines& lines, FigurePlace place) {
  std::vector<FigureColumn> columns = latency_columns(lines, kLatencies);
  for (FigureColumn& each : columns)  // columns that every reader needs are not
    each.column.optional =
        each.column.head == "min" || each.column.head == "p90" || each.column.head == "mean";
  if (place == FigurePlace::page) return columns;
  columns.insert(columns.begin(), count_column("count", [](const Row& row) {
                   return static_cast<double>(row.latency->histogram.count);
                 }));
  columns.push_back(sum_column("lost", &Row::lost, true));
  return columns;
}

std::string torn_remark(const FigureLines& lines) {
  return any_row(lines, tail_may_be_missing) ? std::string(kTailMayBeMissing) : "";
}

}  // namespace

std::vector<FigureColumn> latency_columns(const FigureLines& lines,
                                          std::span<const Metric> metrics) {
  const Unit unit = latency_unit(lines);
  return mapped(metrics, [&](Metric metric) {
    FigureColumn column = median_column(info_of(metric).name, unit, max_decimals(unit),
                                        info_of(metric).value, kTooFewSamples);
    column.column.optional = true;
    return column;
  });
}

Figures latency_figures(std::string title) {
  return {.title = std::move(title),
          .has = all_have<&Row::latency>,
          .by_axes = true,
          .columns_of = columns_of_latency,
          .remark = torn_remark,
          .remark_on_page = false};
}

}  // namespace rdmameter
