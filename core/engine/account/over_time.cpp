// SPDX-License-Identifier: Apache-2.0
#include "core/engine/account/over_time.h"

namespace rdmameter {
namespace {

std::optional<double> number(std::optional<std::uint64_t> value) {
  return value ? std::optional(static_cast<double>(*value)) : std::nullopt;
}

}  // namespace

std::unique_ptr<LatencySeries> make_latency_series(const TestCase& test_case) {
  if (!test_case.latency_over_time()) return nullptr;
  return std::make_unique<LatencySeries>(test_case.interval(), !test_case.reliable());
}

std::uint64_t latency_series_bytes(const TestCase& test_case) {
  return test_case.latency_over_time() ? LatencySeries::kBytes : 0;
}

std::optional<OverTimeData> over_time_of(LatencySeries* series) {
  if (series == nullptr) return std::nullopt;
  const std::vector<IntervalLatency> intervals = series->intervals();
  OverTimeData data{.interval_ns = series->interval_ns()};
  for (const IntervalLatency& one : intervals) {
    data.count.push_back(one.count);
    data.p50_ns.push_back(number(one.p50));
    data.p99_ns.push_back(number(one.p99));
    data.max_ns.push_back(number(one.max));
    if (series->lossy()) data.lost.push_back(one.lost);
  }
  return data;
}

}  // namespace rdmameter
