// SPDX-License-Identifier: Apache-2.0
#include "core/session/examine_peer.h"

#include "core/doctor/examination.h"
#include "core/session/entry.h"
#include "core/session/message_exchange.h"
#include "core/session/messages.h"

namespace rdmameter {

nlohmann::ordered_json examine_peer(const SessionOptions& options,
                                    const InterruptSource& interrupt) {
  nlohmann::ordered_json environment;  // the examination says more
  // No device is opened: that it cannot be opened may be what is looked for.
  Channel channel = enter_server(
      options, [](Channel&) { return std::nullopt; }, interrupt, environment);
  MessageExchange messages{channel};
  messages.send(make_message("examine"));
  const nlohmann::ordered_json examination =
      checked_examination(messages.expect<ExaminationMessage>("examination").examination);
  channel.send_last(make_message("bye"), Deadline::in(kTick));
  return examination;
}

void answer_examine(Channel& channel) {
  channel.send(
      make_message("examination", ExaminationMessage{examination_json(examine({}, try_devices()))}),
      Deadline::in(kSetupTimeout));
}

}  // namespace rdmameter
