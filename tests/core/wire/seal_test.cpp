// SPDX-License-Identifier: Apache-2.0
#include "core/wire/seal.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/wire/auth.h"
#include "tests/core/wire/pair.h"

namespace rdmameter {
namespace {

using json = nlohmann::ordered_json;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kSealToken = "a-token-of-more-than-16-characters";

Challenge challenge() {
  static const std::string initiator = make_nonce(), responder = make_nonce();
  return {1, initiator, responder};
}

SealKeys initiator_keys() {
  return make_seal_keys(kSealToken, Role::initiator, challenge());
}
SealKeys responder_keys() {
  return make_seal_keys(kSealToken, Role::responder, challenge());
}

TEST(SealKeys, OfOneEndAreThoseOfTheOtherTurnedRound) {
  EXPECT_EQ(initiator_keys().send, responder_keys().receive);
  EXPECT_EQ(initiator_keys().receive, responder_keys().send);
  EXPECT_NE(initiator_keys().send, initiator_keys().receive);
}

TEST(SealKeys, DifferWithTokenVersionAndEitherNonce) {
  const Challenge both = challenge();
  const std::string other = make_nonce();
  const SealKey key = initiator_keys().send;
  const auto key_of = [](std::string_view token, const Challenge& of) {
    return make_seal_keys(token, Role::initiator, of).send;
  };
  EXPECT_NE(key, key_of("another-token-of-some-length", both));
  EXPECT_NE(key, key_of(kSealToken, {2, both.initiator_nonce, both.responder_nonce}));
  EXPECT_NE(key, key_of(kSealToken, {1, other, both.responder_nonce}));
  EXPECT_NE(key, key_of(kSealToken, {1, both.initiator_nonce, other}));
}

// Computed by Python's hmac and hashlib over the same bytes: the two ends may be different builds.
TEST(SealKeys, AreTheSameInEveryBuildAndNoProof) {
  const std::string a(kNonceChars, 'a'), b(kNonceChars, 'b');
  const SealKey key = make_seal_keys("0123456789abcdefghij", Role::initiator, {1, a, b}).send;
  std::string text;
  for (const unsigned char each : key) text += fmt::format("{:02x}", each);
  EXPECT_EQ(text, "9d1e2eb14818bd3317d34c61bf5ec4af3dcad285366dfa0e09a2f39b5a4a8c8b");
  EXPECT_NE(text, make_proof("0123456789abcdefghij", Role::initiator, {1, a, b}));
}

TEST(Seal, HidesATextThatItsReceiverReadsInOrder) {
  Sealer sealer{initiator_keys().send};
  Opener opener{responder_keys().receive};
  for (const std::string text : {"rkey", "", "qpn qpn qpn qpn qpn qpn qpn qpn", "qpn"}) {
    const std::size_t overhead = opener.overhead();
    const std::string sealed = sealer.seal(text, false);
    EXPECT_EQ(sealed.size(), text.size() + overhead);
    if (!text.empty()) {
      EXPECT_EQ(sealed.find(text), std::string::npos);
    }
    EXPECT_EQ(opener.open(sealed), text);
  }
  EXPECT_FALSE(opener.ended());
  EXPECT_EQ(opener.open(sealer.seal("the end", true)), "the end");
  EXPECT_TRUE(opener.ended());
}

TEST(Seal, TwoSessionsOfOneKeyAndTextLookDifferent) {
  const SealKeys keys = initiator_keys();
  EXPECT_NE(Sealer{keys.send}.seal("the same text", false),
            Sealer{keys.send}.seal("the same text", false));
}

/// Three sealed messages, and one more of the other direction.
struct Sealed {
  Sealed() {
    Sealer sealer{initiator_keys().send};
    for (const char* text : {"first", "second", "third"})
      messages.push_back(sealer.seal(text, false));
    other_direction = Sealer{responder_keys().send}.seal("first", false);
  }
  std::vector<std::string> messages;
  std::string other_direction;
};

/// Opens these, one after another. @return how many were taken
std::size_t taken(const std::vector<std::string>& messages) {
  Opener opener{responder_keys().receive};
  std::size_t count = 0;
  for (const std::string& each : messages) count += opener.open(each) ? 1 : 0;
  return count;
}

TEST(Seal, NoBitCanBeChanged) {
  const std::vector<std::string> messages = Sealed().messages;
  for (std::size_t message = 0; message < 2; ++message)
    for (std::size_t at = 0; at < messages[message].size(); ++at)
      for (unsigned bit = 0; bit < 8; ++bit) {
        std::vector<std::string> changed = messages;
        changed[message][at] = static_cast<char>(changed[message][at] ^ 1 << bit);
        EXPECT_EQ(taken(changed), message) << message << " " << at << " " << bit;
      }
}

TEST(Seal, NothingCanBeCutAddedRepeatedLeftOutOrMoved) {
  const Sealed all;
  const std::string &a = all.messages[0], &b = all.messages[1], &c = all.messages[2];
  EXPECT_EQ(taken({a, b, c}), 3U);
  for (std::size_t length = 0; length < a.size(); ++length)
    EXPECT_EQ(taken({a.substr(0, length), b, c}), 0U) << length;
  for (std::size_t length = 0; length < b.size(); ++length)
    EXPECT_EQ(taken({a, b.substr(0, length), c}), 1U) << length;
  EXPECT_EQ(taken({a, b + '\0', c}), 1U);
  EXPECT_EQ(taken({a, a, b, c}), 1U);
  EXPECT_EQ(taken({a, b, b, c}), 2U);
  EXPECT_EQ(taken({a, c, b}), 1U);
  EXPECT_EQ(taken({b, a, c}), 0U);
  EXPECT_EQ(taken({a, c}), 1U);
  EXPECT_EQ(taken({all.other_direction, a}), 0U) << "nothing can be sent back to its sender";
}

TEST(Seal, NothingIsTakenAfterTheLastMessage) {
  Sealer sealer{initiator_keys().send};
  Opener opener{responder_keys().receive};
  EXPECT_TRUE(opener.open(sealer.seal("the end", true)));
  EXPECT_FALSE(opener.open(sealer.seal("more", false)));
}

/// A channel that is sealed, and what its peer sends from the other end.
struct SealedPair : Pair {
  SealedPair() : Pair(kProvedMessageBytes), peer(responder_keys().send) {
    channel.seal(initiator_keys());
  }

  void send_sealed(std::string_view text, bool last = false) { raw(framed(peer.seal(text, last))); }

  ChannelError failure() {
    try {
      channel.receive(soon());
    } catch (const ChannelError& error) {
      return error;
    }
    throw std::runtime_error("a message was taken");
  }

  Sealer peer;
};

TEST(SealedChannel, CarriesMessagesBothWaysAndNoneOfThemIsReadable) {
  SealedPair pair;
  pair.send_sealed(R"({"type":"ready","rkey":4711})");
  EXPECT_EQ(pair.channel.receive(soon())["rkey"], 4711);
  for (const char* type : {"prepare", "connect"}) pair.channel.send({{"type", type}}, soon());
  std::string wire(1000, '\0');
  const ssize_t got = recv(pair.other.get(), wire.data(), wire.size(), 0);
  ASSERT_GT(got, 0);
  wire.resize(static_cast<std::size_t>(got));
  EXPECT_EQ(wire.find("prepare"), std::string::npos);
  Opener opener{responder_keys().receive};
  for (const char* type : {"prepare", "connect"}) {
    const auto length = static_cast<unsigned char>(wire[3]);
    EXPECT_EQ(opener.open(std::string_view(wire).substr(4, length)),
              fmt::format(R"({{"type":"{}"}})", type));
    wire.erase(0, 4U + length);
  }
}

TEST(SealedChannel, TheLimitIsThatOfAText) {
  for (const std::size_t more : {0U, 1U}) {
    SealedPair pair;
    pair.channel.set_max_message_bytes(kUnprovedMessageBytes);
    for (int message = 0; message < 2; ++message) {
      const std::string text =
          R"({"text":")" + std::string(kUnprovedMessageBytes - 11 + more, 'x') + R"("})";
      pair.send_sealed(text);
      if (more == 0)
        EXPECT_EQ(pair.channel.receive(soon()).dump(), text);
      else
        EXPECT_EQ(pair.failure().cause, ChannelError::Cause::protocol);
      if (more != 0) break;
    }
  }
}

void expect_seal_error(const ChannelError& error) {
  EXPECT_EQ(error.cause, ChannelError::Cause::protocol);
  EXPECT_THAT(error.what(), AllOf(HasSubstr("what came is not what the peer sent"),
                                  HasSubstr("measure without it")));
}

TEST(SealedChannel, WhatTheOtherEndDidNotSealIsAnErrorThatNamesCauseAndRemedy) {
  const auto broken = [](const std::function<void(SealedPair&)>& tamper) {
    SealedPair pair;
    pair.send_sealed("{}");
    EXPECT_EQ(pair.channel.receive(soon()), json::object());
    tamper(pair);
    expect_seal_error(pair.failure());
    EXPECT_FALSE(pair.channel.usable());
    pair.send_sealed("{}");
    expect_seal_error(pair.failure());  // not even what is whole
  };
  broken([](SealedPair& pair) { pair.raw(framed("{}")); });  // plain
  broken([](SealedPair& pair) { pair.raw(framed("")); });
  broken([](SealedPair& pair) { pair.raw(framed(std::string(100, '\0'))); });
  broken([](SealedPair& pair) { pair.raw("\xff\xff\xff\xff"); });  // a length
  broken([](SealedPair& pair) {
    const std::string frame = framed(pair.peer.seal("{}", false));
    pair.raw(frame);
    EXPECT_EQ(pair.channel.receive(soon()), json::object());
    pair.raw(frame);  // repeated
  });
  broken([](SealedPair& pair) {
    pair.peer.seal("{}", false);  // left out
    pair.send_sealed("{}");
  });
}

TEST(SealedChannel, AnEndWithoutTheLastMessageIsABrokenConnection) {
  for (const bool within : {false, true}) {
    SealedPair pair;
    pair.send_sealed("{}");
    EXPECT_EQ(pair.channel.receive(soon()), json::object());
    if (within) pair.raw(framed(pair.peer.seal("{}", true)).substr(0, 10));
    pair.other.reset();
    const ChannelError error = pair.failure();
    EXPECT_EQ(error.cause, ChannelError::Cause::reset);
    EXPECT_THAT(error.what(), AllOf(HasSubstr("the connection to the peer broke"),
                                    HasSubstr("before the message that ends the session"),
                                    HasSubstr("see its stderr")));
  }
}

TEST(SealedChannel, AnEndAfterTheLastMessageIsNone) {
  SealedPair pair;
  pair.send_sealed(R"({"type":"bye"})", true);
  EXPECT_EQ(pair.channel.receive(soon())["type"], "bye");
  pair.other.reset();
  EXPECT_EQ(pair.failure().cause, ChannelError::Cause::closed);
}

TEST(SealedChannel, TheLastMessageOfAChannelIsSealedAsSuch) {
  SealedPair pair;
  pair.channel.send_last({{"type", "bye"}}, soon());
  std::string wire(1000, '\0');
  const ssize_t got = recv(pair.other.get(), wire.data(), wire.size(), 0);
  ASSERT_GT(got, 4);
  Opener opener{responder_keys().receive};
  EXPECT_EQ(opener.open(std::string_view(wire).substr(4, static_cast<std::size_t>(got) - 4)),
            R"({"type":"bye"})");
  EXPECT_TRUE(opener.ended());
}

TEST(SealedChannel, AMessageThatAnInterruptKeptBackIsNotMissedByThePeer) {
  SealedPair pair;
  pair.channel.send({{"type", "first"}}, soon());
  const std::string much(4096, ' ');
  std::size_t filled = 0;
  for (ssize_t sent; (sent = send(pair.channel.fd(), much.data(), much.size(), MSG_DONTWAIT)) > 0;)
    filled += static_cast<std::size_t>(sent);
  pair.interrupt.raise();
  EXPECT_THROW(pair.channel.send({{"type", "kept back"}}, soon()), Interrupted);
  ASSERT_TRUE(pair.channel.usable());
  // The peer takes what filled the socket, which stands for nothing, and the last word comes.
  const auto take = [&](std::size_t bytes) {
    std::string taken(bytes, '\0');
    for (std::size_t got = 0; got < bytes;) {
      const ssize_t more = recv(pair.other.get(), &taken[got], bytes - got, 0);
      if (more <= 0) throw std::runtime_error("recv");
      got += static_cast<std::size_t>(more);
    }
    return taken;
  };
  Opener opener{responder_keys().receive};
  const auto take_message = [&] {
    return opener.open(take(static_cast<unsigned char>(take(4).back())));
  };
  EXPECT_EQ(take_message(), R"({"type":"first"})");
  take(filled);
  pair.channel.send_last({{"type", "last word"}}, soon());
  EXPECT_EQ(take_message(), R"({"type":"last word"})");
}

}  // namespace
}  // namespace rdmameter
