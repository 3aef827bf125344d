// SPDX-License-Identifier: Apache-2.0
#include "reports/text/sweep_curve.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <map>

#include "reports/stats/sample.h"
#include "reports/summary/unit.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

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
