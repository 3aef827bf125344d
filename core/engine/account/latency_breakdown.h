// SPDX-License-Identifier: Apache-2.0
// A latency in three shares, told apart by the device's completion timestamps: the post, the wire
// (all that the devices, the path and the peer do), and the poll that sees the completion.
#pragma once

#include <infiniband/verbs.h>

#include <span>
#include <string>

#include "core/engine/loop/loop_state.h"
#include "core/instrument/clock.h"
#include "core/result/json_text.h"

namespace rdmameter {

/// The host's and the device's clock, read at one time.
struct ClockPair {
  std::uint64_t ticks = 0;   ///< of the loop's clock, in the middle of the reading
  std::uint64_t device = 0;  ///< of the device's
  std::uint64_t bracket_ticks =
      0;  ///< what the reading took: the pair is off by half of it at most
};

/// The narrowest of several readings (ibv_query_rt_values_ex).
/// @throws Unsupported, VerbsError
ClockPair read_both_clocks(ibv_context& context, const ClockChoice& clock,
                           const std::string& where);

/// {"unit": "ns", "samples", "clock_error_ns", "post": {...}, "wire": {...}, "poll": {...}}, each
/// with min, max, mean, p50, p90, p99 (null: too few samples).
/// A device's time becomes one of the loop's on the straight line through the two pairs, which were
/// taken before and after: so it is off by what the worse of them is, however long the run was.
/// @param mask  bits that the device's clock counts with
Json latency_breakdown_json(std::span<const Timestamps> timestamps, const ClockPair& before,
                            const ClockPair& after, std::uint64_t mask, const ClockChoice& clock);

}  // namespace rdmameter
