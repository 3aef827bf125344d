// SPDX-License-Identifier: Apache-2.0
// The first messages of a session: both ends check each other's protocol and, where the responder
// wants it, prove that they know its token.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/session/channel.h"

namespace rdmameter {

/// Says hello as the initiator, and proves the token.
/// @param token   empty: none is known
/// @param wanted  {"device", "port_num", "gid_index"} of the responder
/// @return the responder's environment
/// @throws MeasurementError  another protocol, a missing or wrong token, a responder that does not
/// prove
///                           itself, silence
nlohmann::ordered_json greet_responder(Channel& channel, const std::string& token,
                                       const nlohmann::json& wanted);

/// Takes an initiator's hello as the responder, up to and including its proof. welcome() is still
/// to be sent, by send_welcome().
struct Greeting {
  std::string initiator_version;
  std::string welcome_proof;  ///< for send_welcome(); empty without a token
  nlohmann::json wanted;      ///< {"device", "port_num", "gid_index"} of the responder
};
/// @param token     empty: none is wanted
/// @param deadline  of the whole greeting
/// @throws MeasurementError
Greeting greet_initiator(Channel& channel, const std::string& token, Deadline deadline);

void send_welcome(Channel& channel, const Greeting& greeting,
                  const nlohmann::ordered_json& environment);

}  // namespace rdmameter
