// SPDX-License-Identifier: Apache-2.0
// What every talk of an initiator with its responder is made of: a message said, one expected, an
// end before its time.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/session/channel.h"

namespace rdmameter {

class Dialogue {
 public:
  /// @param channel  borrowed
  explicit Dialogue(Channel& channel) : channel_(channel) {}

  void say(nlohmann::json message, const char* type);

  /// @throws Unsupported, UsageError, NoDevice, MeasurementError  what the responder says instead
  nlohmann::json expect(std::string_view type);

  /// Tells the responder that this case ends here, and waits until it has cleaned up.
  void abandon();

 protected:
  Channel& channel_;
  std::optional<nlohmann::json> heard_;  ///< said out of turn, and not looked at yet
};

}  // namespace rdmameter
