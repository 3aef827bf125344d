// SPDX-License-Identifier: Apache-2.0
#include "core/session/dialogue.h"

#include <fmt/format.h>

#include <utility>

#include "core/error.h"
#include "core/session/failure.h"
#include "core/session/fields.h"
#include "core/session/protocol.h"

namespace rdmameter {

void Dialogue::say(nlohmann::json message, const char* type) {
  message["type"] = type;
  channel_.send(message, Deadline::in(kSetupTimeout));
}

nlohmann::json Dialogue::expect(std::string_view type) {
  nlohmann::json message =
      heard_ ? *std::exchange(heard_, {}) : channel_.receive(Deadline::in(kSetupTimeout));
  const std::string& got = require_string(message, "type", 32);
  if (got == "failed") throw_failure_message(message);
  if (got != type)
    throw MeasurementError(fmt::format("{}: expected the message '{}'", channel_.peer(), type));
  return message;
}

void Dialogue::abandon() {
  say({}, "abandon");
  // What it said before it heard us still lies in between.
  const Deadline deadline = Deadline::in(kSetupTimeout);
  while (require_string(channel_.receive(deadline), "type", 32) != "abandoned") {
  }
}

}  // namespace rdmameter
