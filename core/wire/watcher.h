// SPDX-License-Identifier: Apache-2.0
// Ends a measured loop from outside. The loop itself looks at nothing but one word on empty polls:
// a write_lat responder has no completion to tell it that its peer died.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "core/base/thread.h"
#include "core/wire/wait.h"

namespace rdmameter {

/// A thread that sleeps until something happens, and ends with its owner.
class WatchThread {
 public:
  /// @param work  on the thread; returns once its argument, an event, is raised. Throws nothing
  /// @throws VerbsError        the process is out of descriptors
  /// @throws MeasurementError  there can be no more threads
  template <class Work>
  explicit WatchThread(Work work)
      : thread_(start_thread([this, work = std::move(work)] { work(ended_); })) {}
  WatchThread(WatchThread&&) = delete;  // its thread holds its address
  ~WatchThread() { end(); }

  /// Ends the thread at once and waits for it. Does no harm twice.
  void end() noexcept {
    if (!thread_.joinable()) return;
    ended_.raise();
    thread_.join();
  }

 private:
  EventFd ended_;
  std::thread thread_;  ///< last: it uses the event
};

// The user's wish to end, taken by a measurement that keeps what it has.

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
  ~OrderlyEnd() { source_.gentle_ = false; }

  /// Has the measurement been told to end?
  bool asked() const noexcept { return asked_; }

 private:
  void watch(const EventFd& over) const noexcept;

  const InterruptSource& source_;
  const Deadline::Clock::duration grace_;
  const std::function<bool()> end_now_;
  mutable std::atomic<bool> asked_{false};
  const WatchThread thread_;  ///< last: it uses all of the above
};

/// What is done beside a loop that runs. A step that returns false ends the loop.
struct LoopWatch {
  /// How often `tick` is called: it shows the peer that this end lives, and looks whether the loop
  /// makes progress. Rare, since a wake-up can land in a measurement.
  Deadline::Clock::duration every;
  std::function<bool()> tick;     ///< may throw: the peer has gone
  std::function<bool()> receive;  ///< reads what the peer says
  const EventFd& attention;
  std::function<bool()> attend;  ///< called whenever `attention` is raised
  /// Called once the loop is told to stop: one whose polls are never empty does not see the word.
  std::function<void()> stopped;
};

/// Sleeps in poll() while a loop runs, and writes the loop's stop word when
/// - the peer hung up or said what ends the loop (StopReason::peer),
/// - the user interrupts (StopReason::interrupted),
/// - a tick ends the loop (StopReason::deadline), or attend() (StopReason::sibling).
/// It never wakes otherwise, so it takes no time from the loop. Returns then, or once `ended` is
/// raised: on a WatchThread, which has the loop's pinning.
/// @param socket  borrowed, like `interrupt` and `stop`; no other code may read from it meanwhile
void watch_loop(int socket, const InterruptSource& interrupt, StopFlag& stop,
                const LoopWatch& watch, const EventFd& ended) noexcept;

}  // namespace rdmameter
