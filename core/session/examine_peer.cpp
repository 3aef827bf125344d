// SPDX-License-Identifier: Apache-2.0
#include "core/session/examine_peer.h"

#include "core/doctor/examination.h"
#include "core/session/entry.h"
#include "core/session/failure.h"
#include "core/session/protocol.h"
#include "core/wire/fields.h"

namespace rdmameter {

nlohmann::ordered_json examine_peer(const SessionOptions& options,
                                    const InterruptSource& interrupt) {
  nlohmann::ordered_json environment;  // the examination says more
  // No device is opened: that it cannot be opened may be what is looked for.
  Channel channel = enter_server(
      options, [](Channel&) { return std::nullopt; }, interrupt, environment);
  channel.send({{"type", "examine"}}, Deadline::in(kSetupTimeout));
  const nlohmann::json message = channel.receive(Deadline::in(kSetupTimeout));
  const std::string type = require_string(message, "type", 32);
  if (type == "failed") throw_failure_message(message);
  if (type != "examination")
    throw MeasurementError(channel.peer() + ": expected the message 'examination'");
  const nlohmann::ordered_json examination =
      checked_examination(require_object(message, "examination"));
  channel.send_last({{"type", "bye"}}, Deadline::in(kTick));
  return examination;
}

void answer_examine(Channel& channel) {
  channel.send(
      {{"type", "examination"}, {"examination", examination_json(examine({}, try_devices()))}},
      Deadline::in(kSetupTimeout));
}

}  // namespace rdmameter
