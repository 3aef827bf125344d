// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/metric.h"

#include <fmt/core.h>

#include "reports/unit.h"

namespace rdmameter {

const std::array<MetricInfo, kMetrics>& metrics() {
  static constexpr std::array<MetricInfo, kMetrics> kAll{{
      {Metric::min, "latency", "min", false, false},
      {Metric::p50, "latency", "p50", false, true},
      {Metric::p90, "latency", "p90", false, false},
      {Metric::p99, "latency", "p99", false, true},
      {Metric::p99_9, "latency", "p99.9", false, true},
      {Metric::p99_99, "latency", "p99.99", false, false},
      {Metric::max, "latency", "max", false, false},
      {Metric::mean, "latency", "mean", false, true},
      {Metric::stddev, "latency", "stddev", false, false},
      {Metric::gbps, "bandwidth", "gbps", true, true},
      {Metric::mib_per_s, "bandwidth", "mib_per_s", true, false},
      {Metric::mmsg_per_s, "bandwidth", "mmsg_per_s", true, true},
      {Metric::lost, "", "lost", false, false},
  }};
  return kAll;
}

const MetricInfo& info_of(Metric metric) {
  return metrics()[static_cast<std::size_t>(metric)];
}

std::string_view metric_title(Metric metric) {
  switch (metric) {
    case Metric::gbps:
      return "bandwidth";
    case Metric::mmsg_per_s:
      return "message rate";
    case Metric::min:
    case Metric::p50:
    case Metric::p90:
    case Metric::p99:
    case Metric::p99_9:
    case Metric::p99_99:
    case Metric::max:
    case Metric::mean:
    case Metric::stddev:
    case Metric::mib_per_s:
    case Metric::lost:
      break;
  }
  return info_of(metric).key;
}

std::string metric_text(Metric metric, double value) {
  if (metric == Metric::lost) return fmt::format("{:.0f}", value);
  const std::array shown{value};
  if (is_time(metric)) {
    const Unit unit = time_unit(value);
    const std::array scaled{value / unit.size};
    return fmt::format("{} {}", fixed(scaled[0], decimals_for(scaled)), unit.name);
  }
  const std::string_view unit = metric == Metric::gbps        ? "Gb/s"
                                : metric == Metric::mib_per_s ? "MiB/s"
                                                              : "Mmsg/s";
  return fmt::format("{} {}", fixed(value, decimals_for(shown)), unit);
}

std::string change_text(double ratio) {
  if (ratio >= 10) return fmt::format("×{:.1f}", ratio);
  return fmt::format("{:+.1f} %", (ratio - 1) * 100);
}

}  // namespace rdmameter
