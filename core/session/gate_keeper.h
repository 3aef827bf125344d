// SPDX-License-Identifier: Apache-2.0
// The gate of a case whose loops load each other, and, where both ends send, what the ends tell
// each other of it.
#pragma once

#include <array>
#include <optional>

#include "core/case.h"
#include "core/loop/gate.h"
#include "core/session/channel.h"
#include "core/side.h"

namespace rdmameter {

class GateKeeper {
 public:
  using Clock = Deadline::Clock;

  /// @param sender     this end's side that sends; null: none does
  /// @param attention  raised when there is something to pass on
  GateKeeper(Channel& channel, const Case& one_case, Side* sender, const Wake& attention);

  /// Tells the peer which steps this end has come to since the last time.
  void pass_on();

  /// Is this end at a step that the peer has not come to, although it had ten times as long as this
  /// end needed, and kSilence? A peer that lives and never comes there would be sent to for ever.
  bool overdue(Clock::time_point now = Clock::now()) const;

  /// Takes a message of the peer's. @return false: it is about something else
  /// @throws MeasurementError  nobody expects it here
  bool hear(const nlohmann::json& message);

 private:
  Channel& channel_;
  const Wake& attention_;
  std::optional<LoadGate> gate_;
  const bool both_ways_;
  const Clock::time_point begun_ = Clock::now();
  std::array<std::optional<Clock::time_point>, LoadGate::kSteps> said_;  ///< when
};

}  // namespace rdmameter
