// SPDX-License-Identifier: Apache-2.0
// What an open loop is given and what it keeps: when its requests are due, drawn before the clock
// starts, and how late and how many they were. Plain data; core/engine/account/load.h makes and
// reads it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "core/engine/loop/loop_state.h"
#include "core/instrument/histogram.h"

namespace rdmameter {

inline constexpr std::uint64_t kNeverDue = std::numeric_limits<std::uint64_t>::max();

/// The most requests that waited at a time, interval by interval. Of very many intervals two become
/// one, again and again, as in a LatencySeries.
struct BacklogSeries {
  static constexpr std::size_t kMostIntervals = 1024;

  std::array<std::uint64_t, kMostIntervals> most{};
  std::size_t count = 0;
  std::uint64_t interval_ticks = 0;

  /// An interval is over. @param waited  the most in it
  void add(std::uint64_t waited) noexcept {
    most[count++] = waited;
    if (count < kMostIntervals) return;
    for (std::size_t i = 0; i < kMostIntervals / 2; ++i)
      most[i] = std::max(most[2 * i], most[2 * i + 1]);
    count = kMostIntervals / 2;
    interval_ticks *= 2;
  }
};

/// A request of a mix. Each part of the mix has rings of its own.
struct MixList : SendList {
  std::uint32_t part = 0;
  std::uint32_t answered = 0;  ///< 1: it ends by an answer, and its completion only makes room
};

/// The samples of a part of a mix, from the requests after the warm-up.
struct PartSamples {
  Histogram response, service, lateness;
};

/// The state of an open loop of several kinds of requests, in addition to OpenLoop.
struct MixState {
  const std::uint8_t* drawn = nullptr;  ///< the part of each request, in the circle of the gaps
  SendList** send = nullptr;  ///< [lane * part_count + part]: the request to be posted next
  std::uint32_t part_count = 0;
  PartSamples* samples = nullptr;  ///< of each part
  std::size_t next = 0;            ///< of `drawn`: the next request's
};

struct OpenLoop {
  // Set before the loop runs.
  const std::uint64_t* gaps_ns = nullptr;  ///< before each request, read in a circle
  std::size_t gap_count = 0;
  std::uint64_t early_ns = 0;  ///< the first is due so long before its gap is over: a thread's turn
  std::uint64_t interval_ns = 1'000'000'000;  ///< of the series

  // Of the requests behind the warm-up.
  Histogram service;      ///< post to answer or CQE
  Histogram lateness;     ///< due to post
  Histogram unmeasured;   ///< both, of the warm-up
  std::uint64_t due = 0;  ///< requests
  std::uint64_t window_ns =
      0;  ///< from when the request before them was due to the last one's time
  std::uint64_t completed = 0;
  std::uint64_t completing_ns = 0;  ///< from when the one before was completed to the last
  std::uint64_t unsent = 0;         ///< still waiting when the duration was over
  std::uint64_t backlog_max = 0;    ///< requests that were due and not posted
  std::uint64_t series_ns = 0;      ///< an interval of `backlog`, once the loop has ended
  BacklogSeries backlog;

  MixState mix;  ///< of a mix
};

}  // namespace rdmameter
