// SPDX-License-Identifier: Apache-2.0
#include "core/session/message_exchange.h"

#include <utility>

#include "core/base/error.h"
#include "core/session/failure.h"

namespace rdmameter {
namespace {

/// How long to wait for the responder's own error after this end has failed.
constexpr std::chrono::milliseconds kLastWord{500};

}  // namespace

Json MessageExchange::expect(std::string_view type) {
  Json message =
      received_ ? *std::exchange(received_, {}) : channel_.receive(Deadline::in(kSetupTimeout));
  const std::string got = type_of(message);
  if (got == "failed") throw_failure_message(message);
  if (got != type) throw MeasurementError("{}: expected the message '{}'", channel_.peer(), type);
  return message;
}

Outcome MessageExchange::conduct(const std::function<Outcome()>& measure) {
  try {
    return measure();
  } catch (const ChannelError& error) {
    if (error.cause == ChannelError::Cause::reset) throw_last_word();
    throw;  // there is no peer left to tell
  } catch (const Interrupted&) {
    throw;  // the session ends, and with it all that the responder holds for us
  } catch (const std::exception&) {
    abandon();
    throw;
  }
}

void MessageExchange::ask_why(std::string_view type) {
  if (channel_.wait_readable(Deadline::in(kLastWord)) == Waited::ready) expect(type);
}

/// Tells the responder that this case ends here, and waits until it has cleaned up.
void MessageExchange::abandon() {
  try {
    send(make_message("abandon"));
    // What it said before it heard us still lies in between.
    const Deadline deadline = Deadline::in(kSetupTimeout);
    while (type_of(channel_.receive(deadline)) != "abandoned") {
    }
  } catch (const ChannelError&) {
    // The channel is unusable now. Our own failure may come of that: the responder's
    // reason says more.
    throw_last_word();
  }
}

/// Reads what the responder had said before the connection broke under a message of ours.
/// @throws Unsupported, UsageError, NoDevice, MeasurementError  why it failed, if it said so
void MessageExchange::throw_last_word() {
  Json message;
  try {
    do message = received_ ? *std::exchange(received_, {}) : channel_.receive(Deadline::in({}));
    while (type_of(message) != "failed");
  } catch (const MeasurementError&) {
    return;
  }
  throw_failure_message(message);
}

}  // namespace rdmameter
