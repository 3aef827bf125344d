// SPDX-License-Identifier: Apache-2.0
#include "core/wire/channel.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "tests/core/wire/pair.h"

namespace rdmameter {
namespace {

using json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;
using Cause = ChannelError::Cause;

/// Receives what must fail, and says how it did.
ChannelError failure_of_receive(Channel& channel, Deadline deadline) {
  try {
    const json message = channel.receive(deadline);
    ADD_FAILURE() << "received " << message.dump();
  } catch (const ChannelError& error) {
    EXPECT_FALSE(channel.usable());
    EXPECT_THAT(error.what(), HasSubstr("the peer"));
    return error;
  }
  return {Cause::protocol, "nothing failed"};
}

ChannelError failure_of(std::string_view body) {
  Pair pair(kProvedMessageBytes);
  std::thread sender([&] { pair.raw(framed(body)); });  // small bodies: the kernel buffers them
  sender.join();
  return failure_of_receive(pair.channel, soon());
}

TEST(Channel, CarriesMessagesInOrderAndNothingMore) {
  Pair pair;
  Channel other({std::move(pair.other), "the first"}, pair.interrupt);
  other.send({{"type", "hello"}, {"version", 1}}, soon());
  other.send({{"text", "Grüße\n"}}, soon());
  EXPECT_EQ(pair.channel.receive(soon()), json({{"type", "hello"}, {"version", 1}}));
  EXPECT_EQ(pair.channel.wait_readable(soon()), Waited::ready);  // the second was left alone
  EXPECT_EQ(pair.channel.receive(soon()), json({{"text", "Grüße\n"}}));
  EXPECT_EQ(pair.channel.wait_readable(Deadline::in(1ms)), Waited::deadline);
  EXPECT_TRUE(pair.channel.usable());
}

TEST(Channel, TakesAMessageAsItsBytesComeAndNeverWaits) {
  Pair pair;
  const std::string frames = framed(R"({"type":"one"})") + framed(R"({"type":"two"})");
  std::vector<std::string> got;
  for (const char byte : frames) {
    pair.raw(std::string(1, byte));
    if (const auto message = pair.channel.try_receive()) got.push_back((*message)["type"]);
  }
  EXPECT_THAT(got, ::testing::ElementsAre("one", "two"));
  // What has come in part is gone on with by a call that waits.
  pair.raw(frames.substr(0, 7));
  EXPECT_FALSE(pair.channel.try_receive());
  pair.raw(frames.substr(7, frames.size() / 2 - 7));
  EXPECT_EQ(pair.channel.receive(soon()), json({{"type", "one"}}));
}

TEST(Channel, CarriesAMessageLargerThanTheSocketsBuffers) {
  Pair pair(kProvedMessageBytes);
  const json large = {{"text", std::string(1'000'000, 'x')}};
  std::thread sender([&] {
    Channel other({std::move(pair.other), "the first"}, pair.interrupt, kProvedMessageBytes);
    other.send(large, soon());
  });
  EXPECT_EQ(pair.channel.receive(soon()), large);
  sender.join();
}

TEST(Channel, TheLengthIsFourBytesBigEndian) {
  Pair pair;
  pair.channel.send({{"a", 1}}, soon());
  char wire[64];
  ASSERT_EQ(recv(pair.other.get(), wire, sizeof wire, 0), 11);
  EXPECT_EQ(std::string_view(wire, 11), std::string_view("\0\0\0\x07{\"a\":1}", 11));
}

TEST(Channel, RefusesALengthOfFourGigabytesWithoutAllocatingThem) {
  Pair pair(std::numeric_limits<std::uint32_t>::max());  // even where the limit would allow it
  pair.raw("\xff\xff\xff\xff{}");
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  EXPECT_EQ(failure_of_receive(pair.channel, Deadline::in(50ms)).cause, Cause::deadline);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 * 1024) << "KiB";
}

TEST(Channel, RefusesALengthBeyondTheLimitAtOnce) {
  Pair pair;
  pair.raw("\xff\xff\xff\xff");
  const auto error = failure_of_receive(pair.channel, soon());
  EXPECT_EQ(error.cause, Cause::protocol);
  EXPECT_THAT(error.what(), HasSubstr("4294967295 bytes where at most 1024"));
}

TEST(Channel, TheLimitIsTheLastAcceptedLength) {
  const std::string body = R"({"text":")" + std::string(kUnprovedMessageBytes - 11, 'x') + R"("})";
  ASSERT_EQ(body.size(), kUnprovedMessageBytes);
  Pair fits;
  fits.raw(framed(body));
  EXPECT_EQ(fits.channel.receive(soon()).at("text").get<std::string>().size(), body.size() - 11);
  Pair too_long;
  too_long.raw(framed(body + " "));
  EXPECT_EQ(failure_of_receive(too_long.channel, soon()).cause, Cause::protocol);
}

TEST(Channel, DoesNotSendWhatThePeerWouldRefuse) {
  Pair pair;
  EXPECT_THROW(pair.channel.send({{"text", std::string(2000, 'x')}}, soon()), Unsupported);
  EXPECT_TRUE(pair.channel.usable());  // nothing went out
  pair.channel.set_max_message_bytes(kProvedMessageBytes);
  pair.channel.send({{"text", std::string(2000, 'x')}}, soon());
}

TEST(Channel, NamesPerftestAtTheOtherEnd) {
  Pair pair;
  pair.raw(std::string_view("6.06\0\0\0\0\0\0\0\0\0\0\0\0", 16));
  const auto error = failure_of_receive(pair.channel, soon());
  EXPECT_EQ(error.cause, Cause::protocol);
  EXPECT_THAT(error.what(), HasSubstr("the peer is perftest, which rdmameter cannot measure with"));
  Pair other;  // "60.6" is no version of it
  other.raw("60.6");
  EXPECT_THAT(failure_of_receive(other.channel, soon()).what(), Not(HasSubstr("perftest")));
}

TEST(Channel, RefusesGarbage) {
  Pair pair(std::numeric_limits<std::uint32_t>::max());
  pair.raw(std::string("\0\0\0\x10", 4) + "GET / HTTP/1.1\r\n");
  const auto error = failure_of_receive(pair.channel, soon());
  EXPECT_EQ(error.cause, Cause::protocol);
  EXPECT_THAT(error.what(), HasSubstr("at byte 1 of 16"));
  EXPECT_THAT(error.what(), Not(HasSubstr("HTTP")));  // nothing of the peer's reaches a terminal
}

TEST(Channel, RefusesWhatIsNoJsonObject) {
  EXPECT_THAT(failure_of("").what(), HasSubstr("bad JSON"));
  EXPECT_THAT(failure_of("{").what(), HasSubstr("bad JSON"));
  EXPECT_THAT(failure_of("{}{}").what(), HasSubstr("bad JSON"));
  EXPECT_THAT(failure_of("[1]").what(), HasSubstr("not a JSON object"));
  EXPECT_THAT(failure_of("null").what(), HasSubstr("not a JSON object"));
  EXPECT_THAT(failure_of(R"({"a":NaN})").what(), HasSubstr("bad JSON"));
  EXPECT_THAT(failure_of(std::string_view("{}\0x", 4)).what(), HasSubstr("NUL"));
}

TEST(Channel, RefusesInvalidUtf8) {
  EXPECT_THAT(failure_of("{\"a\":\"\xff\"}").what(), HasSubstr("bad UTF-8 at byte 7 of 9"));
  EXPECT_THAT(failure_of("{\"a\":\"\xc0\x80\"}").what(), HasSubstr("bad UTF-8"));      // overlong
  EXPECT_THAT(failure_of("{\"a\":\"\xed\xa0\x80\"}").what(), HasSubstr("bad UTF-8"));  // surrogate
  EXPECT_THAT(failure_of(R"({"a":"\ud800"})").what(), HasSubstr("bad UTF-8"));
}

TEST(Channel, RefusesNumbersThatNoDoubleHolds) {
  EXPECT_THAT(failure_of(R"({"a":1e999})").what(), HasSubstr("out of range"));
  EXPECT_THAT(failure_of("{\"a\":" + std::string(5000, '9') + "}").what(),
              HasSubstr("out of range"));
}

std::string nested(unsigned depth) {  // the object itself is the first level
  return "{\"a\":" + std::string(depth - 1, '[') + std::string(depth - 1, ']') + "}";
}

TEST(Channel, RefusesDeepNestingAndTakesWhatTheLimitAllows) {
  EXPECT_NO_THROW(parse_message(nested(kMessageDepth), "the peer"));
  EXPECT_THAT(failure_of(nested(kMessageDepth + 1)).what(), HasSubstr("nested more than 16"));
  EXPECT_THAT(failure_of(std::string(100'000, '[')).what(), HasSubstr("nested"));
}

std::string object_of(std::size_t members) {
  std::string body = "{";
  for (std::size_t i = 0; i < members; ++i) body += fmt::format(R"({}"{}":0)", i > 0 ? "," : "", i);
  return body + "}";
}

/// Each key is looked for among those before it.
TEST(Channel, RefusesAnObjectOfVeryManyMembersAndTakesWhatTheLimitAllows) {
  const std::string whole = object_of(kMessageMembers), more = object_of(kMessageMembers + 1);
  EXPECT_EQ(parse_message(whole, "the peer").size(), kMessageMembers);
  EXPECT_NO_THROW(
      parse_message(R"({"a":[)" + whole + "," + whole + R"(],"b":)" + whole + "}", "the peer"));
  for (const std::string& text : {more, R"({"a":)" + more + "}", R"({"a":[{},)" + more + "]}"})
    EXPECT_THAT(failure_of(text).what(), HasSubstr("more than 1024 members"));
}

TEST(Channel, RefusesAnObjectThatHasAKeyTwice) {
  EXPECT_THAT(failure_of(R"({"a":1,"a":1})").what(), HasSubstr("a key twice"));
  EXPECT_THAT(failure_of(R"({"a":[0,{"b":{},"c":2,"b":1}]})").what(), HasSubstr("a key twice"));
  EXPECT_NO_THROW(parse_message(R"({"a":{"b":1},"b":[{"a":1},{"a":2}]})", "the peer"));
}

TEST(Channel, ReadsAllThatAMessageMayHold) {
  const std::string text =
      R"({"z":null,"a":[true,false,-1,18446744073709551615,2.5,"\u00e9\"",[],{}],"o":{"y":{"x":[[1],[2]]},"b":""}})";
  EXPECT_EQ(parse_message(text, "the peer"), json::parse(text));
}

/// An object whose text is as long as a message may be, of one element again and again.
std::string full_of(std::string_view element) {
  std::string body = "{\"a\":[";
  while (body.size() + element.size() + 3 < kProvedMessageBytes) body.append(element).append(",");
  body.back() = ']';
  return body + "}";
}

TEST(Channel, RefusesAMessageWhoseValuesWouldTakeManyTimesItsLength) {
  for (const char* element : {"{}", "[]", "\"\"", "0", "{\"\":0}"})
    EXPECT_THROW(parse_message(full_of(element), "the peer"), ChannelError) << element;
  EXPECT_NO_THROW(parse_message(full_of("16777215"), "the peer")) << "QPNs";
  EXPECT_NO_THROW(parse_message("{\"a\":\"" + std::string(900'000, '[') + "\"}", "the peer"))
      << "one text";
}

TEST(Channel, BracketsWithinTextAreNoNesting) {
  const std::string text = R"({"a":"\\\"[[[[[[[[[[[[[[[[[[[[{{{{{{{{{{","b":[[]]})";
  EXPECT_EQ(parse_message(text, "the peer").size(), 2U);
}

TEST(Channel, TellsTheEndsOfAConnectionApart) {
  Pair closed;
  closed.other.reset();
  const auto at_rest = failure_of_receive(closed.channel, soon());
  EXPECT_EQ(at_rest.cause, Cause::closed);
  EXPECT_THAT(at_rest.what(), HasSubstr("has closed the connection"));

  Pair in_length;
  in_length.raw(std::string_view("\0\0", 2));
  in_length.other.reset();
  EXPECT_THAT(failure_of_receive(in_length.channel, soon()).what(),
              HasSubstr("in the middle of a message, after 2 of the 4 bytes of a length"));

  Pair in_body;
  in_body.raw(framed(R"({"a":1})").substr(0, 8));
  in_body.other.reset();
  const auto half = failure_of_receive(in_body.channel, soon());
  EXPECT_EQ(half.cause, Cause::closed);
  EXPECT_THAT(half.what(), HasSubstr("after 8 of the 11 bytes of a message"));
}

TEST(Channel, SilenceEndsAtTheDeadline) {
  Pair pair;
  const auto error = failure_of_receive(pair.channel, Deadline::in(30ms));
  EXPECT_EQ(error.cause, Cause::deadline);
  EXPECT_THAT(error.what(), HasSubstr("has not answered in time"));
}

TEST(Channel, HalfAMessageEndsAtTheDeadline) {
  Pair pair;
  pair.raw(framed(R"({"a":1})").substr(0, 8));
  const auto error = failure_of_receive(pair.channel, Deadline::in(30ms));
  EXPECT_EQ(error.cause, Cause::deadline);
  EXPECT_THAT(error.what(), HasSubstr("sent only 8 of the 11 bytes of a message in time"));
}

TEST(Channel, ATrickleOfBytesEndsAtTheDeadlineOfTheWholeMessage) {
  Pair pair;
  std::atomic<bool> over{false};
  std::thread trickle([&over, fd = pair.other.get()] {
    const std::string frame = framed(R"({"text":")" + std::string(200, '.') + R"("})");  // 10 s
    for (std::size_t at = 0; at < frame.size() && !over; ++at) {
      if (::send(fd, &frame[at], 1, MSG_NOSIGNAL) != 1) return;
      std::this_thread::sleep_for(50ms);
    }
  });
  const double seconds = seconds_of([&] {
    EXPECT_EQ(failure_of_receive(pair.channel, Deadline::in(300ms)).cause, Cause::deadline);
  });
  EXPECT_GE(seconds, 0.3);
  EXPECT_LT(seconds, 5);
  over = true;
  trickle.join();
}

TEST(Channel, SendingToAPeerThatDoesNotReadEndsAtTheDeadline) {
  Pair pair(kProvedMessageBytes);
  const json large = {{"text", std::string(1'000'000, 'x')}};
  try {
    pair.channel.send(large, Deadline::in(50ms));
    FAIL() << "sent a megabyte into a small buffer";
  } catch (const ChannelError& error) {
    EXPECT_EQ(error.cause, Cause::deadline);
    EXPECT_THAT(error.what(), HasSubstr("the peer took only"));
  }
  EXPECT_FALSE(pair.channel.usable());
}

TEST(Channel, SendingToAPeerThatIsGoneIsAnErrorAndNoSignal) {
  Pair pair;
  pair.other.reset();
  try {
    pair.channel.send({{"a", 1}}, soon());
    FAIL() << "sent to nobody";
  } catch (const ChannelError& error) {
    EXPECT_EQ(error.cause, Cause::reset);
    EXPECT_THAT(error.what(), HasSubstr("Broken pipe"));
  }
}

TEST(Channel, TextThatIsNoUtf8IsSentWithReplacements) {
  Pair pair;
  Channel other({std::move(pair.other), "the first"}, pair.interrupt);
  other.send({{"text", "a\xff"}}, soon());
  EXPECT_EQ(pair.channel.receive(soon()).at("text"), "a\xef\xbf\xbd");
}

TEST(Channel, AnInterruptEndsAWaitAndLeavesALastWord) {
  Pair pair;
  pair.interrupt.raise();
  EXPECT_THROW(pair.channel.receive(soon()), Interrupted);
  EXPECT_TRUE(pair.channel.usable());
  EXPECT_NO_THROW(pair.channel.send({{"type", "bye"}}, soon()));
}

TEST(Channel, WithAnotherInterruptItKeepsItsLimitAndWhatHasCome) {
  Pair pair(kProvedMessageBytes);
  const std::string text(100'000, 'x'), frame = framed(json{{"text", text}}.dump());
  pair.raw(frame.substr(0, 50'000));
  EXPECT_FALSE(pair.channel.try_receive());
  pair.interrupt.raise();
  const InterruptSource never;
  pair.channel.set_interrupt(never);
  const std::jthread sender([&] {
    std::this_thread::sleep_for(20ms);
    pair.raw(frame.substr(50'000));
  });
  EXPECT_EQ(pair.channel.receive(soon()).at("text"), text);
}

TEST(Channel, AnInterruptInTheMiddleOfAMessageSpoilsTheChannel) {
  Pair pair;
  pair.raw(framed(R"({"a":1})").substr(0, 8));
  std::thread user([&] {
    std::this_thread::sleep_for(20ms);
    pair.interrupt.raise();
  });
  EXPECT_THROW(pair.channel.receive(Deadline::in(20s)), Interrupted);
  EXPECT_FALSE(pair.channel.usable());
  user.join();
}

}  // namespace
}  // namespace rdmameter
