// SPDX-License-Identifier: Apache-2.0
#include "core/session/handshake.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "core/base/printable.h"
#include "core/session/failure.h"
#include "core/wire/auth.h"

namespace rdmameter {
namespace {

/// Of the message with which a responder refuses: kMaxReasonBytes of text, each byte escaped.
constexpr std::size_t kMaxRefusalBytes = 16 * 1024;
static_assert(kMaxRefusalBytes > 6 * kMaxReasonBytes + 100);

/// @return the message, which must be a `type`
Json require_type(const Channel& channel, Json message, std::string_view type,
                  const std::function<void(const Json&)>& refused = {}) {
  const std::string got = type_of(message);
  if (refused && got == "failed") refused(message);
  if (got != type)
    throw MeasurementError("{}: expected the message '{}', is that an rdmameter of this release?",
                           channel.peer(), type);
  return message;
}

/// The next message, which must be a `type`.
/// @param refused  throws, of a message "failed"; null: that is as any other type
Json expect(Channel& channel, std::string_view type, Deadline deadline,
            const std::function<void(const Json&)>& refused = {}) {
  return require_type(channel, channel.receive(deadline), type, refused);
}

/// A responder that has proved nothing refuses. Any process at its address could say so. So the
/// kind that it names skips no case and makes no status: the measurement has failed. (TokenError is
/// such a failure, to which this end may add where it found its token.)
/// @param token  that the responder has to prove; empty: none
[[noreturn]] void throw_unproved_refusal(const Channel& channel, const Json& message,
                                         const std::string& token) {
  const auto failure = read_message<Failure>(message);
  const std::string text =
      fmt::format("{} refused{}: \"{}\"", channel.peer(),
                  token.empty() ? "" : " before it proved that it knows the token", failure.reason);
  if (failure.kind == failure_kind(TokenError(""))) throw TokenError(text);
  throw MeasurementError(text);
}

/// As versions of programs are written: other text has no place in an error.
bool is_version(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return is_word_character(c, ".+-_~"); });
}

void check_protocol(const Channel& channel, const Hello& hello) {
  if (!is_version(hello.version))
    throw MeasurementError("`version` must be letters, digits and any of . + - _ ~");
  if (hello.protocol != kProtocolVersion)
    throw MeasurementError(
        "{} runs rdmameter {} with protocol {}, this end runs rdmameter {} with protocol {}: "
        "use the same release at both ends",
        channel.peer(), hello.version, hello.protocol, RDMAMETER_VERSION, kProtocolVersion);
}

/// Both ends have a token, or neither has. An end that may claim to need no proof
/// would be unauthenticated.
void check_token_use(const Channel& channel, const std::string& token, bool required) {
  if (required && token.empty())
    throw TokenError(
        "{} wants a token: set RDMAMETER_TOKEN to the one that `rdmameter "
        "serve` printed there, or name a file with --token-file",
        channel.peer());
  if (!required && !token.empty())
    throw TokenError(
        "{} does not ask for the token that is set here, so it does not prove that it "
        "is the intended server: start that server with the token, or, to go on "
        "without one, unset RDMAMETER_TOKEN and leave out --token-file",
        channel.peer());
}

}  // namespace

Json greet_responder(Channel& channel, const std::function<std::string()>& ask_token,
                     const std::function<std::optional<EndSettings>()>& choose_wanted) {
  const Hello hello{.nonce = make_nonce()};
  const Deadline deadline = Deadline::in(kSetupTimeout);  // it may be serving another client first
  channel.send(make_message("hello", hello), deadline);
  const auto challenge = read_message<ChallengeMessage>(
      expect(channel, "challenge", deadline,
             [&](const Json& refusal) { throw_unproved_refusal(channel, refusal, ask_token()); }));
  check_protocol(channel, challenge.hello);
  const std::string token = ask_token();
  // From here on it must prove that it knows what we know, whatever it says itself.
  check_token_use(channel, token, challenge.token_required);
  const Challenge both{kProtocolVersion, hello.nonce, challenge.hello.nonce};
  const Proof proof{token.empty() ? "" : make_proof(token, Role::initiator, both)};
  channel.send(make_message("proof", proof), deadline);
  channel.set_max_message_bytes(kMaxRefusalBytes);
  const auto welcome =
      read_message<Proof>(expect(channel, "welcome", deadline, [&](const Json& refusal) {
        throw_unproved_refusal(channel, refusal, token);
      }));
  if (!token.empty()) {
    if (!proof_holds(token, Role::responder, both, welcome.value))
      throw TokenError("{} does not know the token: it is not the server that printed it",
                       channel.peer());
    channel.seal(make_seal_keys(token, Role::initiator, both));
  }
  channel.set_max_message_bytes(kProvedMessageBytes);
  const std::optional<EndSettings> chosen = choose_wanted();
  const Wanted wanted = chosen ? wanted_of(*chosen) : Wanted{};
  const Deadline rest = Deadline::in(kSetupTimeout);  // choosing has taken a part of the other's
  channel.send(make_message("describe", wanted), rest);
  const auto described =
      read_message<EnvironmentMessage>(expect(channel, "environment", rest, throw_failure_message));
  return printable_json(described.value);
}

Greeting greet_initiator(Channel& channel, const std::string& token, Deadline deadline) {
  const auto hello = read_message<Hello>(expect(channel, "hello", deadline));
  const Hello mine{.nonce = make_nonce()};
  channel.send(
      make_message("challenge", ChallengeMessage{.hello = mine, .token_required = !token.empty()}),
      deadline);
  check_protocol(channel, hello);  // after the answer, so that the other end can say so too
  Greeting greeting{.initiator_version = hello.version, .welcome_proof = {}, .seal_keys = {}};
  const auto message = read_message<Proof>(expect(channel, "proof", deadline));
  const Challenge both{kProtocolVersion, hello.nonce, mine.nonce};
  if (!token.empty()) {
    if (!proof_holds(token, Role::initiator, both, message.value))
      throw TokenError(
          "the token is wrong: it must be that of this server (its RDMAMETER_TOKEN or "
          "--token-file, or what it printed when it started)");
    greeting.welcome_proof = make_proof(token, Role::responder, both);
    greeting.seal_keys = make_seal_keys(token, Role::responder, both);
  }
  channel.set_max_message_bytes(kProvedMessageBytes);
  return greeting;
}

Wanted welcome_initiator(Channel& channel, const Greeting& greeting,
                         const std::function<void(const Wanted&)>& answer_list_ports) {
  const Deadline deadline = Deadline::in(kSetupTimeout);
  channel.send(make_message("welcome", Proof{greeting.welcome_proof}), deadline);
  if (greeting.seal_keys) channel.seal(*greeting.seal_keys);
  Json message = channel.receive(deadline);
  while (type_of(message) == "list_ports") {
    answer_list_ports(read_message<Wanted>(message));
    message = channel.receive(deadline);
  }
  return read_message<Wanted>(require_type(channel, std::move(message), "describe"));
}

void send_environment(Channel& channel, const Json& environment) {
  channel.send(make_message("environment", EnvironmentMessage{environment}),
               Deadline::in(kSetupTimeout));
}

}  // namespace rdmameter
