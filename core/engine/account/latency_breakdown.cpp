// SPDX-License-Identifier: Apache-2.0
#include "core/engine/account/latency_breakdown.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/instrument/histogram_data.h"
#include "core/verbs/check.h"
#include "core/verbs/environment.h"

namespace rdmameter {
namespace {

constexpr int kReadings = 16;

/// From a device's ticks to those of the loop's clock.
auto line_through(const ClockPair& before, const ClockPair& after, std::uint64_t mask) {
  const std::uint64_t device = (after.device - before.device) & mask;
  const double ticks_per_device_tick =
      device == 0 ? 0
                  : static_cast<double>(after.ticks - before.ticks) / static_cast<double>(device);
  return [=](std::uint64_t at) {
    const std::uint64_t since = (at - before.device) & mask;
    return before.ticks + static_cast<std::uint64_t>(
                              std::llround(static_cast<double>(since) * ticks_per_device_tick));
  };
}

Json statistics(const Histogram& histogram) {
  const LatencySummary summary = summarize(snapshot(histogram));
  return {{"min", summary.min},          {"max", summary.max},
          {"mean", summary.mean},        {"p50", or_null(summary.p50)},
          {"p90", or_null(summary.p90)}, {"p99", or_null(summary.p99)}};
}

}  // namespace

ClockPair read_both_clocks(ibv_context& context, const ClockChoice& clock,
                           const std::string& where) {
  ClockPair best;
  for (int i = 0; i < kReadings; ++i) {
    ibv_values_ex values{};
    values.comp_mask = IBV_VALUES_MASK_RAW_CLOCK;
    const std::uint64_t begin = clock.now();
    const int error = ibv_query_rt_values_ex(&context, &values);
    const std::uint64_t took = clock.now() - begin;
    check_errno_value(error, "ibv_query_rt_values_ex", where);
    if (i != 0 && took >= best.bracket_ticks) continue;
    // "raw_clock" is in the device's ticks, kept in tv_nsec (ibv_query_rt_values_ex(3)).
    best = {.ticks = begin + took / 2,
            .device = static_cast<std::uint64_t>(values.raw_clock.tv_nsec),
            .bracket_ticks = took};
  }
  return best;
}

Json latency_breakdown_json(std::span<const Timestamps> timestamps, const ClockPair& before,
                            const ClockPair& after, std::uint64_t mask, const ClockChoice& clock) {
  const auto ticks_at = line_through(before, after, mask);
  const auto post = std::make_unique<Histogram>(), wire = std::make_unique<Histogram>(),
             poll = std::make_unique<Histogram>();
  for (const Timestamps& each : timestamps) {
    // A clock that is a little off may not make a share negative, nor the sum another.
    const std::uint64_t completed = std::clamp(ticks_at(each.completed), each.posted, each.seen);
    post->record(clock.counter.to_ns(each.posted - each.begun));
    wire->record(clock.counter.to_ns(completed - each.posted));
    poll->record(clock.counter.to_ns(each.seen - completed));
  }
  const std::uint64_t bracket = std::max(before.bracket_ticks, after.bracket_ticks);
  return {{"unit", "ns"},
          {"samples", timestamps.size()},
          {"clock_error_ns", clock.counter.to_ns(bracket) / 2},
          {"post", statistics(*post)},
          {"wire", statistics(*wire)},
          {"poll", statistics(*poll)}};
}

}  // namespace rdmameter
