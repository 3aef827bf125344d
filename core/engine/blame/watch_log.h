// SPDX-License-Identifier: Apache-2.0
// What a watched loop noted (core/engine/loop/poll_watch.h), owned, and as plain data in ns.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/base/role.h"
#include "core/engine/loop/poll_watch.h"
#include "core/instrument/clock.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// The most gaps that an end keeps: they go over the wire.
inline constexpr std::size_t kMaxPollGaps = 1 << 13;
inline constexpr std::size_t kMaxLongSamples = 1 << 16;

/// The notes of an end. Times are of its own clock, in ns; those of a peer's gaps are not sent.
struct WatchData {
  struct Gap {
    std::uint64_t message = 0, length_ns = 0;
    bool found = false, first = false;  ///< as in PollGap
    std::uint64_t begun_ns = 0;         ///< CLOCK_MONOTONIC
    std::int64_t begun_utc_ns = 0;      ///< CLOCK_REALTIME
  };
  struct Sample {
    std::uint64_t message = 0, length_ns = 0;
    std::uint64_t begun_ns = 0;  ///< CLOCK_MONOTONIC
  };
  std::uint64_t gap_limit_ns = 0;  ///< all gaps as long as that are there
  std::vector<Gap> gaps;           ///< in no order
  std::vector<Sample> samples;     ///< of the initiator alone; behind the warm-up
};

class WatchLog {
 public:
  WatchLog(const TestCase& test_case, Role role);
  WatchLog(WatchLog&&) = delete;

  PollWatch& watch() { return watch_; }

  /// Sets the limits, and notes what time it is. Right before the loop.
  void begin(const ClockChoice& clock);
  /// Once the loop has ended.
  WatchData data(const ClockChoice& clock) const;

 private:
  const std::uint64_t late_ns_;  ///< kAuto: not given
  std::unique_ptr<PollGap[]> gaps_;
  std::unique_ptr<LongSample[]> samples_;
  PollWatch watch_;
  std::uint64_t began_ticks_ = 0, began_ns_ = 0;
  std::int64_t began_utc_ns_ = 0;
};

/// The memory of a WatchLog; 0: the case has none.
std::uint64_t watch_log_bytes(const TestCase& test_case, Role role);

}  // namespace rdmameter
