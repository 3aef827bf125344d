// SPDX-License-Identifier: Apache-2.0
// Of latencies over time how much p50 and p99 vary, and in which interval the longest sample is.
#include <algorithm>
#include <functional>

#include "reports/figures/figures.h"

namespace rdmameter {
namespace {

/// The numbers of one row's intervals.
using OfIntervals = std::vector<std::optional<double>> OverTimeData::*;

/// The value of an interval that comes before all others by `before`, as the tables of the row's
/// latency have it: half a round trip of ping-pong tests.
template <class Before>
std::optional<double> first_interval(const Row& row, OfIntervals times, Before before) {
  std::optional<double> found;
  for (const auto& value : (*row.over_time).*times)
    if (value && (!found || before(*value, *found))) found = value;
  return found ? std::optional(*found / latency_divisor(row)) : found;
}
std::optional<double> least(const Row& row, OfIntervals times) {
  return first_interval(row, times, std::less{});
}
std::optional<double> greatest(const Row& row, OfIntervals times) {
  return first_interval(row, times, std::greater{});
}

/// When the interval with the longest sample ended [ns].
std::optional<double> when_longest(const Row& row) {
  const OverTimeData& data = *row.over_time;
  const auto longest = std::ranges::max_element(data.max_ns);
  if (longest == data.max_ns.end() || !*longest) return std::nullopt;
  return static_cast<double>(longest - data.max_ns.begin() + 1) *
         static_cast<double>(data.interval_ns);
}

}  // namespace

Figures over_time_figures() {
  const Unit time{"µs", 1e3}, seconds{"s", 1e9};
  return {
      .title = "over time",
      .on_page = false,
      .has = all_have<&Row::over_time>,
      .by_axes = true,
      .columns = always(
          {median_column("intervals", {"", 1}, 0,
                         [](const Row& row) -> std::optional<double> {
                           return static_cast<double>(row.over_time->count.size());
                         }),
           median_column("each", seconds, 3,
                         [](const Row& row) -> std::optional<double> {
                           return static_cast<double>(row.over_time->interval_ns);
                         }),
           median_column(
               "p50 from", time, 3,
               [](const Row& row) { return least(row, &OverTimeData::p50_ns); }, kTooFewSamples),
           median_column(
               "to", time, 3, [](const Row& row) { return greatest(row, &OverTimeData::p50_ns); },
               kTooFewSamples),
           median_column(
               "p99 from", time, 3,
               [](const Row& row) { return least(row, &OverTimeData::p99_ns); }, kTooFewSamples),
           median_column(
               "to", time, 3, [](const Row& row) { return greatest(row, &OverTimeData::p99_ns); },
               kTooFewSamples),
           median_column(
               "max", time, 3, [](const Row& row) { return greatest(row, &OverTimeData::max_ns); },
               kTooFewSamples),
           median_column("until", seconds, 3, when_longest, kTooFewSamples)})};
}

}  // namespace rdmameter
