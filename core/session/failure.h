// SPDX-License-Identifier: Apache-2.0
// An error on its way over the wire: thrown at one end, thrown again at the other as the same kind.
#pragma once

#include <exception>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/base/error.h"
#include "core/session/protocol.h"
#include "core/wire/channel.h"
#include "core/wire/message.h"

namespace rdmameter {

/// How one end tells another of a failure, so that both give the case the same fate.
std::string_view failure_kind(const std::exception& error);

/// Throws Unsupported, UsageError, NoDevice, TokenError; of any other kind MeasurementError.
[[noreturn]] void throw_failure(std::string_view kind, const std::string& text);

/// The content of a message "failed".
struct Failure {
  std::string kind, reason;
};

void list_fields(auto& fields, Is<Failure> auto& failure) {
  fields("kind", failure.kind, {.max_size = 32});
  fields("reason", failure.reason, {.max_size = 4 * kMaxReasonBytes});
}

/// The message "failed" for this exception.
Json failure_message(const std::exception& error);

/// Does what a peer asks for; tells it why that failed, unless it is the connection that did.
template <class Step>
void or_tell(Channel& channel, Step step) {
  try {
    step();
  } catch (const ChannelError&) {
    throw;
  } catch (const std::exception& error) {
    channel.send_last(failure_message(error), Deadline::in(kProofTimeout));
    throw;
  }
}

/// Throws what a "failed" message says, its reason prefixed with whose it is.
[[noreturn]] void throw_failure_message(const Json& message);

}  // namespace rdmameter
