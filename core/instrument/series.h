// SPDX-License-Identifier: Apache-2.0
// Messages over time, as the session's thread sees them while a loop runs: the loop itself does
// nothing for it.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "core/instrument/histogram.h"

namespace rdmameter {

class Series {
 public:
  using Clock = std::chrono::steady_clock;

  explicit Series(std::uint64_t interval_ns) : interval_ns_(interval_ns) {}

  /// Notes how many messages are done by now, where an interval or more has passed since the last
  /// note. Of very many intervals two become one, again and again, so that a long
  /// run's are bounded.
  /// @param messages  since the traffic began
  void note(std::uint64_t messages, Clock::time_point now = Clock::now());

  /// Notes the last of them, whatever the time.
  void close(std::uint64_t messages, Clock::time_point now = Clock::now());

  Clock::duration interval() const noexcept { return std::chrono::nanoseconds(interval_ns_); }

  /// {"interval_ns", "end_ns": [...], "messages": [...], "mmsg_per_s_min", "mmsg_per_s_max"}: for
  /// each interval when it ended, from the start of the traffic, and the messages that it saw. A
  /// last one shorter than half an interval is left out of the extremes, unless it is the only one.
  nlohmann::ordered_json json() const;

 private:
  void join_pairs();

  struct Point {
    std::uint64_t end_ns, messages;
  };
  static constexpr std::size_t kMaxPoints = 4096;
  std::uint64_t interval_ns_;
  Clock::time_point begin_ = Clock::now();
  Clock::time_point last_ = begin_;
  std::uint64_t counted_ = 0;
  std::vector<Point> points_;
};

// A latency's distribution over time. The measured loop records every sample into one histogram,
// with or without a series: at the end of each interval, between two samples, what has come since
// the last one is taken over from there.

/// One interval's samples [ns].
struct IntervalLatency {
  std::uint64_t count = 0, lost = 0;
  std::optional<std::uint64_t> p50, p99, max;  ///< nothing: too few samples
};

class LatencySeries final : public IntervalLatencies {
 public:
  static constexpr std::size_t kMostIntervals = 1024;

  /// Takes and touches all of its memory.
  /// @param lossy  can samples be lost?
  LatencySeries(std::uint64_t interval_ns, bool lossy);
  LatencySeries(LatencySeries&&) = delete;
  static const std::size_t kBytes;  ///< that it takes

  /// Takes about 20 us (docs/measuring.md). Of very many intervals two become one, a pair at a
  /// time: interval_ns() doubles.
  void close(const Histogram& all, std::uint64_t lost) noexcept override;
  void close_empty() noexcept override;
  std::uint64_t left_ns(std::uint64_t elapsed_ns) const noexcept override {
    return ends_ns_ - elapsed_ns;
  }
  void note(const Histogram& all, std::uint64_t lost, std::uint64_t elapsed_ns) noexcept override;
  /// Length of the interval that is not over.
  std::uint64_t interval_ns() const noexcept { return interval_ns_; }

  // From another thread, while the loop runs.

  /// The interval that ended last.
  /// @param seen  intervals that have been told; becomes those that are over
  /// @return      nothing: no further one is over
  std::optional<IntervalLatency> latest(std::uint64_t& seen) const noexcept;

  // Once the loop has ended.

  /// Adds the samples of another thread, interval by interval.
  void add(LatencySeries& other);
  bool lossy() const noexcept { return lossy_; }
  std::vector<IntervalLatency> intervals();

 private:
  // Eight neighbouring buckets of the histogram are one here, at most 0.8 % wide.
  static constexpr unsigned kCoarser = 3;
  static constexpr std::size_t kBuckets = kHistogramBuckets >> kCoarser;
  struct Slot {
    std::array<std::uint32_t, kBuckets> n;
    std::uint64_t count, lost, max_ns;
  };

  Slot& next_slot() noexcept;
  void end_interval(const Slot& slot) noexcept;
  Slot& join(std::size_t pair) noexcept;
  void evens_first(std::size_t intervals) noexcept;
  void settle();
  void halve();
  static void take_over(Slot& into, const Slot& from) noexcept;
  static IntervalLatency latency_of(const Slot& slot) noexcept;

  const bool lossy_;
  std::uint64_t interval_ns_;
  std::uint64_t ends_ns_;
  const std::unique_ptr<Slot[]> slots_;
  const std::unique_ptr<std::uint64_t[]> before_;  ///< the histogram's buckets at the last interval
  std::uint64_t overflow_before_ = 0, lost_before_ = 0;
  /// The slot of each interval. While `joining_`, 2k and 2k + 1 are one, in the first of them, for
  /// k < `fresh_`, and the second holds the k-th interval of the new length.
  std::array<std::uint16_t, kMostIntervals> order_;
  std::size_t count_ = 0, fresh_ = 0;
  bool joining_ = false;

  /// Odd while it changes.
  std::atomic<std::uint64_t> version_{0};
  struct {
    std::atomic<std::uint64_t> count{0}, lost{0}, p50{0}, p99{0}, max{0};
  } told_;
};

}  // namespace rdmameter
