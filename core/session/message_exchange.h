// SPDX-License-Identifier: Apache-2.0
// What every talk of an initiator with its responder is made of: a message said, one expected, an
// end before its time.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/engine/measurer.h"
#include "core/session/protocol.h"
#include "core/wire/channel.h"
#include "core/wire/message.h"

namespace rdmameter {

class MessageExchange {
 public:
  /// @param channel  borrowed
  explicit MessageExchange(Channel& channel) : channel_(channel) {}

  void send(const Json& message) { channel_.send(message, Deadline::in(kSetupTimeout)); }

  /// @throws Unsupported, UsageError, NoDevice, MeasurementError  what the responder says instead
  Json expect(std::string_view type);
  template <class Data>
  Data expect(std::string_view type) {
    return read_message<Data>(expect(type));
  }

  /// To be called where this end has failed: the responder, if it has, too, may know why.
  /// @param type  of the message that it says otherwise
  /// @throws as expect()
  void ask_why(std::string_view type);

  /// Measures one case. Where `measure` fails, the responder is told to abandon the case.
  /// @throws what `measure` throws; but where the connection broke after the responder had said why
  /// it fails, what it said
  Outcome conduct(const std::function<Outcome()>& measure);

 protected:
  Channel& channel_;
  std::optional<Json> received_;  ///< said out of turn, and not looked at yet

 private:
  void abandon();
  void throw_last_word();
};

}  // namespace rdmameter
