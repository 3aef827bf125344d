// SPDX-License-Identifier: Apache-2.0
// Messages over time, as the session's thread sees them while a loop runs: the loop itself does
// nothing for it.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

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

}  // namespace rdmameter
