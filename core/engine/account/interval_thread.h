// SPDX-License-Identifier: Apache-2.0
// How a long measurement gets on while it runs, and its latency over time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "core/instrument/series.h"
#include "core/result/row.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// The figures of one interval.
struct ProgressInterval {
  double end_s = 0, length_s = 0;  ///< since the start of the traffic
  std::uint64_t operations = 0;    ///< done in it
  /// The latencies of the case's last whole interval; nothing: it keeps none, or none
  /// has ended meanwhile.
  std::optional<IntervalLatency> latency = {};
};

/// Who hears of the intervals of a case.
struct IntervalListener {
  /// Called from a thread of its own, beside the measured loop. Throws nothing. Empty: no listener.
  std::function<void(const TestCase&, const ProgressInterval&)> hear = {};
  bool bounded_too = false;  ///< also of cases that end by themselves
};

class IntervalThread {
 public:
  /// Without a listener there is no thread.
  /// @param test_case  one that runs until interrupted, or, where the listener takes those, a
  ///                   bandwidth, or a latency over time, whose duration has two intervals or more,
  ///                   of 100 ms at least
  /// @param progress  operations so far; may begin anew after a warm-up
  /// @param listener  borrowed, as the case
  /// @param latency   likewise; null: there is none
  IntervalThread(const TestCase& test_case, std::function<std::uint64_t()> progress,
                 const IntervalListener& listener, const LatencySeries* latency = nullptr);
  IntervalThread(IntervalThread&&) = delete;  // its thread holds its address
  ~IntervalThread();

 private:
  void report();

  const TestCase& case_;
  const std::function<std::uint64_t()> progress_;
  const IntervalListener& listener_;
  const LatencySeries* const latency_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool ended_ = false;
  std::thread thread_;  ///< last: it uses all of the above
};

// A case's latency over time: whether it is kept, and what the row says of it.

/// The series that a thread of the initiator records into; null: the case keeps none.
std::unique_ptr<LatencySeries> make_latency_series(const TestCase& test_case);

/// The memory of make_latency_series().
std::uint64_t latency_series_bytes(const TestCase& test_case);

/// @param series  of a loop that has ended; null: there is none
std::optional<OverTimeData> over_time_of(LatencySeries* series);

}  // namespace rdmameter
