// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/connection_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "reports/stats/sample.h"
#include "reports/summary/unit.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

std::string mebibytes(std::uint64_t bytes) {
  return bytes == 0 ? std::string(kUnknown) : fixed(static_cast<double>(bytes) / (1 << 20), 2);
}

std::string micro(const std::optional<double>& ns) {
  return ns ? fixed(*ns / 1e3, 2) : std::string(kUnknown);
}

/// The median of the repetitions, and half their range.
std::array<std::string, 2> rate_cells(const ConnectionPoint& point) {
  if (point.mmsg_per_s.empty()) return {kUnknown, kUnknown};
  const auto [low, high] = std::ranges::minmax(point.mmsg_per_s);
  const double rate = median(point.mmsg_per_s);
  const int decimals = decimals_for(std::array{rate});
  return {fixed(rate, decimals), fixed((high - low) / 2, decimals)};
}

std::string lost_text(const std::optional<double>& share) {
  return share ? fixed(100 * *share, 1) : std::string(kUnknown);
}

}  // namespace

Table connection_table(std::span<const ConnectionCurve> curves) {
  const bool lossy = std::ranges::any_of(curves, [](const ConnectionCurve& curve) {
    return std::ranges::any_of(
        curve.points, [](const ConnectionPoint& point) { return point.lost_share.has_value(); });
  });
  Table table{.columns = {{.head = "opcode", .is_text = true},
                          {.head = "over", .is_text = true},
                          {.head = "size", .unit = "B"},
                          {.head = "active"},
                          {.head = "rate", .unit = "Mmsg/s"},
                          {.head = "±", .unit = "Mmsg/s"},
                          {.head = "p50", .unit = "µs"},
                          {.head = "p99", .unit = "µs"},
                          {.head = "memory", .unit = "MiB"}},
              .key_columns = 4};
  if (lossy) table.columns.push_back({.head = "lost", .unit = "%"});
  for (const ConnectionCurve& curve : curves)
    for (const ConnectionPoint& point : curve.points) {
      const auto [rate, half_range] = rate_cells(point);
      std::vector<Table::Cell> cells{printable(curve.opcode),
                                     printable(curve.kind),
                                     fmt::format("{}", curve.size_bytes),
                                     std::to_string(point.active),
                                     rate,
                                     half_range,
                                     micro(point.p50_ns),
                                     micro(point.p99_ns),
                                     mebibytes(point.memory_bytes)};
      if (lossy) cells.emplace_back(lost_text(point.lost_share));
      table.add_line(std::move(cells));
    }
  return table;
}

std::string connection_text(const ResultFile& file, const TextStyle& style) {
  const std::vector<ConnectionCurve> curves = connection_curves(file.rows);
  if (curves.empty()) return "";
  std::string text = "\n" + bold("active connections", style) + "\n";
  for (const ConnectionCurve& curve : curves) text += wrap("  ", knee_sentence(curve), style.width);
  for (const std::string& limit : connection_limits(file.context))
    text += wrap("  ", limit, style.width);
  return text + "\n" + render(connection_table(curves), style);
}

}  // namespace rdmameter
