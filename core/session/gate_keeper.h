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
  /// @param sender     this end's side that sends; null: none does
  /// @param attention  raised when there is something to pass on
  GateKeeper(Channel& channel, const Case& one_case, Side* sender, const Wake& attention);

  /// Tells the peer which steps this end has come to since the last time.
  void pass_on();

  /// Takes a message of the peer's. @return false: it is about something else
  /// @throws MeasurementError  nobody expects it here
  bool hear(const nlohmann::json& message);

 private:
  Channel& channel_;
  const Wake& attention_;
  std::optional<LoadGate> gate_;
  const bool both_ways_;
  std::array<bool, LoadGate::kSteps> said_{};
};

}  // namespace rdmameter
