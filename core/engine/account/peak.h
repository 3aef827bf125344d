// SPDX-License-Identifier: Apache-2.0
// BW peak, as perftest defines it (print_report_bw): the best rate of any stretch of a bandwidth's
// traffic, from a post to a completion.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "core/engine/loop/loop_state.h"
#include "core/instrument/clock.h"
#include "core/result/row.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// When so many messages had been posted, or completed, over all QPs.
struct Moment {
  std::uint64_t time;      ///< [ticks]
  std::uint64_t messages;  ///< before the post; or with the completion
};

/// A part of the traffic. 0 messages: there is none.
struct Stretch {
  std::uint64_t messages = 0, ticks = 0;
};

/// The stretch with the highest rate: from a post to a completion of its message or of a later one.
/// In n log n: seen from a completion, the post that gives the steepest slope lies on the lower
/// convex hull of the posts before it.
/// @param posts, completions  times and messages ascend in each
Stretch best_stretch(std::span<const Moment> posts, std::span<const Moment> completions);

/// Owns the times that the loop keeps.
class PeakLog {
 public:
  explicit PeakLog(const TestCase& test_case);
  PeakLog(PeakLog&&) = delete;

  TrafficTimes& times() { return times_; }
  /// Once the loop has ended. @return nothing: no message was completed
  std::optional<PeakData> peak(const LoopState& loop_state, std::uint64_t size_bytes,
                               const TickScale& scale) const;

 private:
  const std::uint64_t capacity_;
  std::unique_ptr<std::uint64_t[]> posts_, completions_;
  TrafficTimes times_;
};

}  // namespace rdmameter
