// SPDX-License-Identifier: Apache-2.0
#include "reports/text/parts/percentile_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "reports/summary/unit.h"
#include "reports/text/table.h"

namespace rdmameter {
namespace {

constexpr double kPercents[] = {25,   50,    75,    90,     95,     99,      99.5,
                                99.9, 99.95, 99.99, 99.995, 99.999, 99.9995, 99.9999};

struct PercentileLine {
  std::string name, one_in;
  double value;                    ///< [ns], divided
  std::optional<double> min, max;  ///< of the repetitions; nothing: one lacks it
  std::uint64_t beyond;
};

/// As many as rank higher.
std::uint64_t samples_beyond(std::uint64_t count, double percent) {
  const double beyond = (100 - percent) / 100 * static_cast<double>(count);
  return static_cast<std::uint64_t>(beyond * (1 + 1e-9));
}

std::vector<PercentileLine> lines_of(const CaseSummary& summary, const HistogramData& merged) {
  const double divisor = latency_divisor(*summary.repetitions.front());
  std::vector<PercentileLine> lines;
  for (const double percent : kPercents) {
    const auto value = reported_percentile(merged, percent);
    if (!value) break;
    const auto own = spread(summary, [&](const Row& row) -> std::optional<double> {
      if (!row.latency) return std::nullopt;
      const auto one = reported_percentile(row.latency->histogram, percent);
      if (!one) return std::nullopt;
      return static_cast<double>(*one) / divisor;
    });
    PercentileLine line{fmt::format("p{}", percent),
                        fmt::format("{:.4g}", 100 / (100 - percent)),
                        static_cast<double>(*value) / divisor,
                        {},
                        {},
                        samples_beyond(merged.count, percent)};
    if (own) {
      line.min = own->median;
      line.max = own->median;
      for (const Row* row : summary.repetitions) {
        const double one =
            static_cast<double>(percentile(row->latency->histogram, percent)) / divisor;
        line.min = std::min(*line.min, one);
        line.max = std::max(*line.max, one);
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
  const std::vector<PercentileLine> lines = lines_of(summary, merged);
  const Unit unit = time_unit(lines.front().value);
  const int decimals =
      decimals_for(std::vector{lines.front().value / unit.size}, max_decimals(unit));
  const auto shown = [&](const std::optional<double>& ns) {
    return ns ? fixed(*ns / unit.size, decimals) : kUnknown;
  };
  const std::string unit_name(unit.name);
  const bool repeated = summary.repetitions.size() > 1;
  Table table;
  table.key_columns = 1;
  table.columns = {{"percentile"},         {"1/(1-p)"},
                   {"time", unit_name},    {"smallest", unit_name},
                   {"largest", unit_name}, {"samples beyond"}};
  for (const PercentileLine& line : lines)
    table.add_line({line.name, line.one_in, shown(line.value), shown(line.min), shown(line.max),
                    fmt::format("{}", line.beyond)});
  if (!repeated) table.columns.erase(table.columns.begin() + 3, table.columns.begin() + 5);
  return render(table, style) +
         (repeated ? dim(wrap("  ", "Smallest and largest: of the repetitions' own percentiles.",
                              style.width),
                         style)
                   : "");
}

}  // namespace rdmameter
