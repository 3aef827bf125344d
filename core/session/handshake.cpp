// SPDX-License-Identifier: Apache-2.0
#include "core/session/handshake.h"

#include <fmt/format.h>

#include "core/session/auth.h"
#include "core/session/failure.h"
#include "core/session/fields.h"
#include "core/session/protocol.h"

namespace rdmameter {
namespace {

/// The next message, which must be a `type`; a "failed" is thrown.
nlohmann::json expect(Channel& channel, std::string_view type, Deadline deadline) {
  nlohmann::json message = channel.receive(deadline);
  const std::string& got = require_string(message, "type", 32);
  if (got == "failed") throw_failure_message(message);
  if (got != type)
    throw MeasurementError(
        fmt::format("{}: expected the message '{}', is that an rdmameter of this release?",
                    channel.peer(), type));
  return message;
}

void check_protocol(const Channel& channel, const nlohmann::json& message) {
  const std::uint64_t protocol = require_uint(message, "protocol", 0, 1'000'000);
  const std::string& version = require_string(message, "version", kMostVersionBytes);
  if (protocol != kProtocolVersion)
    throw MeasurementError(
        fmt::format("{} runs rdmameter {} with protocol {}, this is {} with protocol {}: "
                    "use the same release at both ends",
                    channel.peer(), version, protocol, RDMAMETER_VERSION, kProtocolVersion));
}

nlohmann::json opening(const char* type, const std::string& nonce) {
  return {{"type", type},
          {"protocol", kProtocolVersion},
          {"version", RDMAMETER_VERSION},
          {"nonce", nonce}};
}

}  // namespace

nlohmann::ordered_json greet_responder(Channel& channel, const std::string& token,
                                       const nlohmann::json& wanted) {
  const std::string nonce = make_nonce();
  const Deadline deadline = Deadline::in(kSetupTimeout);  // it may be serving somebody else first
  channel.send(opening("hello", nonce), deadline);
  const nlohmann::json challenge = expect(channel, "challenge", deadline);
  check_protocol(channel, challenge);
  const std::string& theirs = require_string(challenge, "nonce", kNonceChars, kNonceChars);
  const bool token_required = require_bool(challenge, "token_required");
  if (token_required && token.empty())
    throw MeasurementError(
        fmt::format("{} wants a token: set RDMAMETER_TOKEN to the one that `rdmameter "
                    "serve` printed there, or name a file with --token-file",
                    channel.peer()));
  const Challenge both{kProtocolVersion, nonce, theirs};
  nlohmann::json proof = wanted;
  proof["type"] = "proof";
  proof["proof"] = token_required ? make_proof(token, Role::initiator, both) : "";
  channel.send(proof, deadline);
  // The welcome carries an environment, which is longer than an unproved peer may write.
  channel.set_max_message_bytes(kProvedMessageBytes);
  const nlohmann::json welcome = expect(channel, "welcome", deadline);
  if (token_required &&
      !proof_holds(token, Role::responder, both, require_string(welcome, "proof", kProofChars)))
    throw MeasurementError(fmt::format(
        "{} does not know the token: it is not the server that printed it", channel.peer()));
  return nlohmann::ordered_json::parse(require_object(welcome, "environment").dump());
}

Greeting greet_initiator(Channel& channel, const std::string& token, Deadline deadline) {
  const nlohmann::json hello = expect(channel, "hello", deadline);
  const std::string theirs = require_string(hello, "nonce", kNonceChars, kNonceChars);
  const std::string nonce = make_nonce();
  nlohmann::json challenge = opening("challenge", nonce);
  challenge["token_required"] = !token.empty();
  channel.send(challenge, deadline);
  check_protocol(channel, hello);  // after the answer, so that the other end can say so too
  Greeting greeting{.initiator_version = require_string(hello, "version", kMostVersionBytes),
                    .welcome_proof = {},
                    .wanted = expect(channel, "proof", deadline)};
  const std::string& proof = require_string(greeting.wanted, "proof", kProofChars);
  const Challenge both{kProtocolVersion, theirs, nonce};
  if (!token.empty()) {
    if (!proof_holds(token, Role::initiator, both, proof))
      throw MeasurementError(
          "the token is wrong: use the one that this server printed when it started");
    greeting.welcome_proof = make_proof(token, Role::responder, both);
  }
  channel.set_max_message_bytes(kProvedMessageBytes);
  return greeting;
}

void send_welcome(Channel& channel, const Greeting& greeting,
                  const nlohmann::ordered_json& environment) {
  channel.send(
      {{"type", "welcome"}, {"proof", greeting.welcome_proof}, {"environment", environment}},
      Deadline::in(kSetupTimeout));
}

}  // namespace rdmameter
