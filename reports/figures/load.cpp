// SPDX-License-Identifier: Apache-2.0
// Of an open loop what was offered and reached, how many requests waited, service and lateness.
#include <fmt/format.h>

#include "core/result/row_json.h"
#include "reports/figures/figures.h"

namespace rdmameter {
namespace {

std::vector<FigureColumn> columns_of_load() {
  std::vector<FigureColumn> columns;
  for (const MetricInfo& metric : load_metrics()) {
    if (metric.metric == Metric::reached_share) continue;  // two columns say it
    const bool time = is_time(metric.metric);
    FigureColumn column = median_column(metric.name, time ? Unit{"µs", 1e3} : Unit{metric.unit, 1},
                                        metric.unit.empty() ? 0
                                        : time              ? 3
                                                            : 1,
                                        metric.value, time ? kTooFewSamples : "");
    column.column.optional = metric.metric == Metric::backlog;
    column.unless_zero = metric.metric == Metric::unsent;
    columns.push_back(std::move(column));
  }
  return columns;
}

std::string saturated_rows(const FigureLines& lines) {
  std::size_t saturated = 0, rows = 0;
  for (const FigureLine& line : lines)
    for (const Row* row : line.summary->repetitions) {
      ++rows;
      if (load_saturated(*row->load)) ++saturated;
    }
  if (saturated == 0) return "";
  return fmt::format(
      "Saturated in {} of {} rows: less than 99 % of the offered rate was reached, "
      "and the responses are those of a queue that grows.",
      saturated, rows);
}

}  // namespace

Figures load_figures() {
  std::vector<FigureCsv> csv = csv_of_metrics("load_", load_metrics());
  csv.push_back({"load_saturated", "/load/saturated"});
  return {.title = "load",
          .has = all_have<&Row::load>,
          .by_axes = true,
          .columns = columns_of_load(),
          .remark = saturated_rows,
          .csv = std::move(csv),
          .csv_early = 10};
}

}  // namespace rdmameter
