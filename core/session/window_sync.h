// SPDX-License-Identifier: Apache-2.0
// The windows of a case whose loops load each other, and, where both ends send, what the ends tell
// each other of it.
#pragma once

#include <array>
#include <optional>

#include "core/engine/loop/window_barrier.h"
#include "core/engine/side.h"
#include "core/test_case/test_case.h"
#include "core/wire/channel.h"

namespace rdmameter {

class WindowSync {
 public:
  using Clock = Deadline::Clock;

  /// @param sender     this end's side that sends; empty: none does
  /// @param attention  raised when there is something to pass on
  WindowSync(Channel& channel, const TestCase& test_case, Side& sender, const EventFd& attention);

  /// Tells the peer which steps this end has come to since the last time.
  void publish();

  /// Is this end at a step that the peer has not come to, although it had ten times as long as this
  /// end needed, and kSilence? A peer that lives and never comes there would be sent to for ever.
  bool overdue(Clock::time_point now = Clock::now()) const;

  /// Takes a message of the peer's. @return false: it is about something else
  /// @throws MeasurementError  it is not expected here
  bool receive(const Json& message);

 private:
  Channel& channel_;
  const EventFd& attention_;
  std::optional<WindowBarrier> windows_;
  const bool both_ways_;
  const Clock::time_point begun_ = Clock::now();
  std::array<std::optional<Clock::time_point>, WindowBarrier::kSteps> said_;  ///< when
};

}  // namespace rdmameter
