// SPDX-License-Identifier: Apache-2.0
#include "reports/percentile_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/table.h"
#include "reports/unit.h"

namespace rdmameter {
namespace {

constexpr double kPercents[] = {25,   50,    75,    90,     95,     99,      99.5,
                                99.9, 99.95, 99.99, 99.995, 99.999, 99.9995, 99.9999};

struct Line {
  std::string name, one_in;
  double value;                           ///< [ns], divided
  std::optional<double> least, greatest;  ///< of the repetitions; nothing: one lacks it
  std::uint64_t beyond;
};

/// As many as rank higher.
std::uint64_t samples_beyond(std::uint64_t count, double percent) {
  const double beyond = (100 - percent) / 100 * static_cast<double>(count);
  return static_cast<std::uint64_t>(beyond * (1 + 1e-9));
}

std::vector<Line> lines_of(const CaseSummary& summary, const HistogramData& merged) {
  const double divisor = latency_divisor(*summary.repetitions.front());
  std::vector<Line> lines;
  for (const double percent : kPercents) {
    const auto value = reported_percentile(merged, percent);
    if (!value) break;
    const auto own = spread(summary, [&](const Row& row) -> std::optional<double> {
      if (!row.latency) return std::nullopt;
      const auto one = reported_percentile(row.latency->histogram, percent);
      if (!one) return std::nullopt;
      return static_cast<double>(*one) / divisor;
    });
    Line line{fmt::format("p{}", percent),
              fmt::format("{:.4g}", 100 / (100 - percent)),
              static_cast<double>(*value) / divisor,
              {},
              {},
              samples_beyond(merged.count, percent)};
    if (own) {
      line.least = own->median;
      line.greatest = own->median;
      for (const Row* row : summary.repetitions) {
        const double one =
            static_cast<double>(percentile(row->latency->histogram, percent)) / divisor;
        line.least = std::min(*line.least, one);
        line.greatest = std::max(*line.greatest, one);
      }
    }
    lines.push_back(line);
  }
  lines.push_back({"max", "", static_cast<double>(merged.max_ns) / divisor, {}, {}, 0});
  return lines;
}

}  // namespace

std::string percentile_table(const CaseSummary& summary, const TextStyle& style) {
  const HistogramData merged = merged_latency(summary);
  const std::vector<Line> lines = lines_of(summary, merged);
  const Unit unit = time_unit(lines.front().value);
  const int decimals =
      decimals_for(std::vector{lines.front().value / unit.size}, most_decimals(unit));
  const auto shown = [&](const std::optional<double>& ns) {
    return ns ? fixed(*ns / unit.size, decimals) : std::string("–");
  };
  const std::string unit_head = fmt::format("[{}]", unit.name);
  const bool repeated = summary.repetitions.size() > 1;
  Table table;
  table.key_columns = 1;
  table.columns = {{"percentile", "", {}}, {"1/(1-p)", "", {}}, {"time", unit_head, {}}};
  if (repeated) {
    table.columns.push_back({"least", unit_head, {}});
    table.columns.push_back({"greatest", unit_head, {}});
  }
  table.columns.push_back({"samples beyond", "", {}});
  for (const Line& line : lines) {
    std::vector<std::string> cells = {line.name, line.one_in, shown(line.value)};
    if (repeated) {
      cells.push_back(shown(line.least));
      cells.push_back(shown(line.greatest));
    }
    cells.push_back(fmt::format("{}", line.beyond));
    for (std::size_t i = 0; i < cells.size(); ++i) table.columns[i].cells.push_back(cells[i]);
  }
  return render(table, style) +
         (repeated ? dim(wrap("  ", "Least and greatest: of the repetitions' own percentiles.",
                              style.width),
                         style)
                   : "");
}

}  // namespace rdmameter
