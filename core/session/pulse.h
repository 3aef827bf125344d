// SPDX-License-Identifier: Apache-2.0
// What the initiator's session does now and then while its loop runs: shows that it lives, sees
// whether the loop gets on, hears what the device says of itself, and notes the series of messages.
#pragma once

#include <chrono>
#include <string>

#include "core/case.h"
#include "core/series.h"
#include "core/session/channel.h"
#include "core/side.h"

namespace rdmameter {

class Pulse {
 public:
  /// Events that the device raised before now are nobody's any more.
  Pulse(Channel& channel, Side& side, const Case& one_case);

  /// How often beat() is due.
  std::chrono::steady_clock::duration every() const;

  /// @return false: the loop must end
  bool beat();

  /// Once the loop has ended: the last of the series, and of the device's events.
  void close();

  /// The device's event that ended the run; empty: none did.
  const std::string& event() const noexcept { return event_; }
  std::chrono::seconds patience() const noexcept { return patience_; }
  const Series& series() const noexcept { return series_; }

 private:
  using Clock = std::chrono::steady_clock;

  Channel& channel_;
  Side& side_;
  const std::chrono::seconds patience_;
  Series series_;
  Clock::time_point alive_at_, said_at_;
  std::uint64_t seen_ = 0;
  std::string event_;
};

}  // namespace rdmameter
