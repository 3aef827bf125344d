// SPDX-License-Identifier: Apache-2.0
// What the initiator's session does now and then while its loop runs: shows that it lives, sees
// whether the loop gets on, hears what the device says of itself, and notes the series of messages.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "core/engine/side.h"
#include "core/instrument/series.h"
#include "core/test_case/test_case.h"
#include "core/wire/channel.h"

namespace rdmameter {

/// How long both ends of an interrupted measurement may take to finish: a short while, and the time
/// in which even a slow link takes what is in flight.
std::chrono::nanoseconds orderly_end_within(const TestCase& test_case);

class Heartbeat {
 public:
  /// Events that the device raised before now are ignored.
  Heartbeat(Channel& channel, Side& side, const TestCase& test_case);

  /// How often tick() is due.
  std::chrono::steady_clock::duration every() const;

  /// @return false: the loop must end
  bool tick();

  /// Once the loop has ended: the last of the series, and of the device's events.
  /// @param failed  so a moment is given to the event that may have been the cause
  void close(bool failed);

  /// Where no message got through for patience(); empty: messages do.
  const std::string& stalled() const noexcept { return stalled_; }
  /// The device's event that ended the run, for people; empty: none did.
  const std::string& event() const noexcept { return event_; }
  std::chrono::seconds patience() const noexcept { return patience_; }
  const Series& series() const noexcept { return series_; }

 private:
  using Clock = std::chrono::steady_clock;

  Channel& channel_;
  Side& side_;
  const std::chrono::seconds patience_;
  Series series_;
  Clock::time_point said_at_;
  std::string event_, stalled_;
  /// Of each device whose loops go on until those of all do, else of all.
  struct Pulse {
    Runners runners;
    std::uint64_t seen = 0;
    Clock::time_point alive_at;
  };
  std::vector<Pulse> pulses_;
};

}  // namespace rdmameter
