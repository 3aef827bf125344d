// SPDX-License-Identifier: Apache-2.0
// The numbers of a repetition that comparisons and gates know, each with its unit and direction.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace rdmameter {

/// Latencies are of round trips or completions here; half round trips are half of them.
enum class Metric : std::size_t {
  min,
  p50,
  p90,
  p99,
  p99_9,
  p99_99,
  max,
  mean,
  stddev,
  gbps,
  mib_per_s,
  mmsg_per_s,
  lost,
};
inline constexpr std::size_t kMetrics = 13;

/// Where a metric stands in a row, what it is called, which way is worse.
struct MetricInfo {
  Metric metric;
  std::string_view group;  ///< "latency", "bandwidth", or "" for the row itself
  std::string_view key;    ///< within it
  bool higher_is_better;
  bool compared;  ///< with its own line in a comparison; the others are for gates alone
};
const std::array<MetricInfo, kMetrics>& metrics();
const MetricInfo& info_of(Metric metric);

constexpr bool is_time(Metric metric) {
  return metric <= Metric::stddev;
}

/// "p50", "bandwidth", "message rate".
std::string_view metric_title(Metric metric);

/// "3.12 µs", "92.4 Gb/s": with three significant digits.
std::string metric_text(Metric metric, double value);

/// "+8.3 %" of a ratio of 1.083; "×12.5" of one beyond 10.
std::string change_text(double ratio);

}  // namespace rdmameter
