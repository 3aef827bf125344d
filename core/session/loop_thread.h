// SPDX-License-Identifier: Apache-2.0
// A side's measured loops on threads of their own, while the session's thread listens to the peer.
#pragma once

#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#include "core/engine/side.h"
#include "core/wire/wait.h"

namespace rdmameter {

class LoopThread {
 public:
  /// @param side       borrowed
  /// @param attention  borrowed; raised when the loop ends before its time: then failed()
  LoopThread(Side& side, Wait wait, const ClockChoice& clock, const EventFd& attention);
  LoopThread(LoopThread&&) = delete;
  /// A loop that still runs is cut off from its peer.
  ~LoopThread();

  /// The peer has sent everything: take it and end.
  /// @param sent  to each of the side's endpoints
  /// @throws MeasurementError  what made the loop fail, or that it never ends: a peer may
  ///                           send without end
  /// @throws Interrupted
  void finish(const std::vector<std::uint64_t>& sent, const InterruptSource& interrupt);

  /// Waits for a loop that ends by itself. @throws the same
  /// @param late  what has happened if it does not end in time
  void join(const InterruptSource& interrupt,
            const char* late = "this end's own messages were not all sent in time");

  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }

 private:
  Side& side_;
  StopFlag stop_;
  EventFd ended_;
  std::atomic<bool> failed_{false};
  SideResult end_;
  std::exception_ptr error_;
  std::thread thread_;  ///< last: it uses all of the above
};

}  // namespace rdmameter
