// SPDX-License-Identifier: Apache-2.0
// Of latencies over time how much p50 and p99 vary, and in which interval the longest sample is.
#include <algorithm>
#include <functional>

#include "reports/figures/figures.h"

namespace rdmameter {
namespace {

/// The value of an interval that comes before all others by `before`, as the tables of the row's
/// latency have it: half a round trip of ping-pong tests.
FigureColumn time_of_intervals(const char* head, std::vector<Number> OverTimeData::*times,
                               auto before) {
  const auto first = [=](const Row& row) {
    Number found;
    for (const auto& value : (*row.over_time).*times)
      if (value && (!found || before(*value, *found))) found = value;
    return found ? std::optional(*found / latency_divisor(row)) : found;
  };
  return median_column(head, {"µs", 1e3}, 3, first, kTooFewSamples);
}

/// When the interval with the longest sample ended [ns].
Number when_longest(const Row& row) {
  const OverTimeData& data = *row.over_time;
  const auto longest = std::ranges::max_element(data.max_ns);
  if (longest == data.max_ns.end() || !*longest) return std::nullopt;
  return static_cast<double>(longest - data.max_ns.begin() + 1) *
         static_cast<double>(data.interval_ns);
}

}  // namespace

Figures over_time_figures() {
  const Unit seconds{"s", 1e9};
  return {.title = "over time",
          .on_page = false,
          .has = all_have<&Row::over_time>,
          .by_axes = true,
          .columns = {median_column("intervals", {"", 1}, 0,
                                    [](const Row& row) {
                                      return static_cast<double>(row.over_time->count.size());
                                    }),
                      median_column("each", seconds, 3,
                                    [](const Row& row) {
                                      return static_cast<double>(row.over_time->interval_ns);
                                    }),
                      time_of_intervals("p50 from", &OverTimeData::p50_ns, std::less{}),
                      time_of_intervals("to", &OverTimeData::p50_ns, std::greater{}),
                      time_of_intervals("p99 from", &OverTimeData::p99_ns, std::less{}),
                      time_of_intervals("to", &OverTimeData::p99_ns, std::greater{}),
                      time_of_intervals("max", &OverTimeData::max_ns, std::greater{}),
                      median_column("until", seconds, 3, when_longest, kTooFewSamples)}};
}

}  // namespace rdmameter
