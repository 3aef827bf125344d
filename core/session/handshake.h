// SPDX-License-Identifier: Apache-2.0
// The first messages of a session: both ends check each other's protocol and, where the responder
// wants it, prove that they know its token. Then the session is sealed.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/result/json_text.h"
#include "core/session/messages.h"
#include "core/wire/channel.h"

namespace rdmameter {

/// Says hello as the initiator, and proves the token.
/// @param ask_token  called once the responder has answered. Empty: none is known; else the
///                   responder must prove that it knows the token
/// @param choose_wanted  called once this end is let in; it may talk with the responder.
///                   @return the responder's end that it is to describe; nothing: none
/// @return the responder's environment
/// Until the responder has proved that it knows the token, what it says can only fail the
/// connection; its reason is quoted as its words.
/// @throws TokenError        a missing or wrong token, or a responder that does not prove itself or
///                           says that it need not
/// @throws MeasurementError  another protocol, silence, a responder that refuses without a proof
/// @throws Unsupported, UsageError, NoDevice  what a proved responder (or, without a token, one
///                           that has welcomed this end) says of the device that is wanted
Json greet_responder(Channel& channel, const std::function<std::string()>& ask_token,
                     const std::function<std::optional<EndSettings>()>& choose_wanted);

/// What an initiator's hello and proof have come to. It is still to be welcomed.
struct Greeting {
  std::string initiator_version;
  // For welcome_initiator(), which need not know the token.
  std::string welcome_proof;          ///< empty without a token
  std::optional<SealKeys> seal_keys;  ///< nothing without a token
};
/// Takes an initiator's hello as the responder, up to and including its proof.
/// @param token     empty: none is wanted
/// @param deadline  of the whole greeting
/// @throws MeasurementError
Greeting greet_initiator(Channel& channel, const std::string& token, Deadline deadline);

/// Answers the proof, and seals the session if there is a token.
/// @param answer_list_ports  called with each message "list_ports" that comes first
/// @return the responder's end that send_environment() describes, if any
/// @throws MeasurementError
Wanted welcome_initiator(Channel& channel, const Greeting& greeting,
                         const std::function<void(const Wanted&)>& answer_list_ports);
void send_environment(Channel& channel, const Json& environment);

}  // namespace rdmameter
