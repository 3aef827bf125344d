// SPDX-License-Identifier: Apache-2.0
// The user's wish to end, taken by a measurement that keeps what it has.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "core/wire/wait.h"

namespace rdmameter {

/// Interrupted, both ends finish what they measure within this long, and what is in flight takes.
inline constexpr std::chrono::seconds kOrderlyEnd{2};

/// While it lives, the first interrupt ends the measurement alone, in an orderly way: both ends
/// finish and tell what they counted. Everything ends where there is nothing to keep, where that
/// takes longer than `grace`, and at a second interrupt. Its thread sleeps in poll() until then, so
/// it takes no time from the measurement.
class OrderlyEnd {
 public:
  /// @param source   borrowed; one such object at a time for each
  /// @param grace    from the interrupt until the measurement is over
  /// @param end_now  called once, on another thread, at the first interrupt. Throws nothing.
  ///                 It returns false where nothing has been measured yet
  /// @throws VerbsError  the process is out of descriptors
  /// @throws MeasurementError  there can be no more threads
  OrderlyEnd(const InterruptSource& source, Deadline::Clock::duration grace,
             std::function<bool()> end_now);
  OrderlyEnd(OrderlyEnd&&) = delete;  // its thread holds its address
  ~OrderlyEnd();

  /// Has the measurement been told to end?
  bool asked() const noexcept { return asked_; }

 private:
  void watch() const noexcept;

  const InterruptSource& source_;
  const Deadline::Clock::duration grace_;
  const std::function<bool()> end_now_;
  mutable std::atomic<bool> asked_{false};
  EventFd over_;
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace rdmameter
