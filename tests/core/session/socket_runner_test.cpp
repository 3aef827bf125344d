// SPDX-License-Identifier: Apache-2.0
#include "core/session/socket_runner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <chrono>
#include <thread>

#include "core/base/error.h"
#include "core/instrument/histogram_data.h"

namespace rdmameter {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;

TestCase tcp(Pattern pattern, std::uint64_t size_bytes = 3000) {
  TestCase test_case = default_case(Opcode::tcp_send, pattern);
  test_case.size_bytes = size_bytes;
  test_case.iterations = 200;
  test_case.warmup = 10;
  return test_case;
}

/// The two ends of a session, and of a case between them.
struct Ends {
  explicit Ends(const TestCase& wanted, std::uint64_t responder_seed = 7)
      : test_case(wanted),
        here(connect_to({"127.0.0.1", listener.port()}, Deadline::in(5s), interrupt)),
        there(std::move(listener.accept(Deadline::in(5s), interrupt).value())),
        initiator(here.socket.get(), interrupt, {test_case, {}, Role::initiator}, 7),
        responder(there.socket.get(), interrupt, {test_case, {}, Role::responder}, responder_seed) {
  }

  void connect() {
    initiator.connect(responder.introduction());
    responder.connect(initiator.introduction());
  }

  /// @return how the initiator's loop ended; the responder's is told to finish then
  LoopResult run(Wait wait) {
    std::thread other{[&] { responder_end = responder.run(wait, clock, responder_stop); }};
    const LoopResult end = initiator.run(wait, clock, initiator_stop);
    responder.expect(initiator.tally().total);
    responder_stop.request(StopReason::finish);
    other.join();
    return end;
  }

  InterruptSource interrupt;
  const TestCase test_case;
  Listener listener{{"127.0.0.1", 0}};
  Connection here, there;
  SocketRunner initiator, responder;
  StopFlag initiator_stop, responder_stop;
  LoopResult responder_end;
  const ClockChoice clock;  // the kernel's
};

class SocketSideWaits : public ::testing::TestWithParam<std::tuple<Pattern, Wait>> {};

TEST_P(SocketSideWaits, MoveEveryByteAndCountEveryMessage) {
  const auto [pattern, wait] = GetParam();
  Ends ends{tcp(pattern)};
  ends.connect();
  ASSERT_EQ(loop_result_text(ends.run(wait), ends.initiator.where()), "");
  const bool latency = pattern == Pattern::ping_pong;
  EXPECT_EQ(ends.initiator.tally().total, 210U);
  EXPECT_EQ(ends.responder.tally().total, 210U);
  EXPECT_EQ((latency ? ends.initiator : ends.responder).tally().operations, 200U);
  const auto arrived = ends.responder.verify(210);
  ASSERT_TRUE(arrived);
  EXPECT_EQ(arrived->checked_bytes, (latency ? 1 : 128) * 3000U);
  EXPECT_EQ(arrived->first_fault, "");
  EXPECT_EQ(ends.initiator.verify(210).has_value(), latency);
  const auto samples = ends.initiator.take_latency();
  ASSERT_EQ(samples != nullptr, latency);  // nothing tells a sender of bandwidth when one arrived
  if (latency) {
    EXPECT_EQ(snapshot(*samples).count, 200U);
  }
}

TEST_P(SocketSideWaits, SeeTheStopWordWhereNothingArrives) {
  const auto [pattern, wait] = GetParam();
  Ends ends{tcp(pattern)};
  ends.connect();
  std::thread later{[&] {
    std::this_thread::sleep_for(30ms);
    ends.responder_stop.request(StopReason::deadline);
  }};
  const LoopResult end = ends.responder.run(wait, ends.clock, ends.responder_stop);
  later.join();
  EXPECT_EQ(end.why, LoopResult::Why::stopped);
}

TEST_P(SocketSideWaits, CallALostConnectionLost) {
  const auto [pattern, wait] = GetParam();
  TestCase endless = tcp(pattern);
  endless.iterations = 1ULL << 40;
  Ends ends{endless};
  ends.connect();
  std::thread later{[&] {
    std::this_thread::sleep_for(30ms);
    ends.responder.abort_traffic();
  }};
  const LoopResult end = ends.run(wait);
  later.join();
  EXPECT_EQ(end.why, LoopResult::Why::connection_lost);
  EXPECT_THAT(loop_result_text(end, ends.initiator.where()),
              HasSubstr("the test's TCP connection to 127.0.0.1:"));
  EXPECT_THAT(loop_result_text(end, ends.initiator.where()), HasSubstr(" was lost: "));
}

INSTANTIATE_TEST_SUITE_P(
    All, SocketSideWaits,
    ::testing::Combine(::testing::Values(Pattern::ping_pong, Pattern::bandwidth),
                       ::testing::Values(Wait::spin, Wait::yield, Wait::event)));

TEST(SocketRunner, IsNotMadeToItsEndWhenItIsInterruptedOrThePeerHasGone) {
  InterruptSource calm, raised;
  raised.raise();
  Listener listener{{"127.0.0.1", 0}};
  const Connection here = connect_to({"127.0.0.1", listener.port()}, Deadline::in(5s), calm);
  std::optional<Connection> there = listener.accept(Deadline::in(5s), calm);
  const TestCase large = tcp(Pattern::ping_pong, 256 << 20);
  const auto make = [&](const InterruptSource& interrupt) {
    SocketRunner{here.socket.get(), interrupt, {large, {}, Role::responder}, 7};
  };
  EXPECT_THROW(make(raised), Interrupted);
  there.reset();
  EXPECT_THAT([&] { make(calm); },
              ::testing::ThrowsMessage<MeasurementError>(HasSubstr("the peer hung up")));
}

TEST(SocketRunner, FindsBytesThatNobodySent) {
  Ends ends{tcp(Pattern::bandwidth), 8};
  ends.connect();
  ASSERT_EQ(loop_result_text(ends.run(Wait::yield), ""), "");
  EXPECT_GT(ends.responder.verify(210)->wrong_bytes, 0U);
}

TEST(SocketRunner, MovesMessagesLargerThanTheSocketsBuffers) {
  TestCase large = tcp(Pattern::ping_pong, 32 << 20);
  large.iterations = 2;
  large.warmup = 0;
  Ends ends{large};
  ends.connect();
  ASSERT_EQ(loop_result_text(ends.run(Wait::yield), ""), "");
  EXPECT_EQ(ends.responder.verify(2)->first_fault, "");
}

TEST(SocketRunner, WithoutWarmUpTheFirstMessageOpensTheWindow) {
  TestCase bare = tcp(Pattern::bandwidth);
  bare.warmup = 0;
  bare.iterations = 1;
  Ends ends{bare};
  ends.connect();
  ASSERT_EQ(loop_result_text(ends.run(Wait::yield), ""), "");
  EXPECT_EQ(ends.initiator.tally().total, 2U);
  EXPECT_EQ(ends.responder.tally().operations, 1U);
}

TEST(SocketRunner, LetsInNobodyButTheInitiator) {
  Ends ends{tcp(Pattern::ping_pong)};
  const ListeningAt listening = ends.responder.introduction().where_listening();
  const Address port{"127.0.0.1", listening.port};
  const auto stranger = [&] { return connect_to(port, Deadline::in(100ms), ends.interrupt); };
  const Connection silent = stranger(), liar = stranger();
  const std::string wrong(listening.nonce.size(), '0');
  ASSERT_GT(::send(liar.socket.get(), wrong.data(), wrong.size(), MSG_NOSIGNAL), 0);
  ends.connect();
  EXPECT_EQ(loop_result_text(ends.run(Wait::yield), ""), "");
  EXPECT_THROW(stranger(), MeasurementError);  // the port is closed
}

TEST(SocketRunner, SaysWhyItCannotConnect) {
  Ends ends{tcp(Pattern::ping_pong)};
  Introduction ready = ends.responder.introduction();
  ready.listening->port = 0;
  EXPECT_THROW(ends.initiator.connect(ready), MeasurementError);
  ready.listening.reset();
  EXPECT_THROW(ends.initiator.connect(ready), MeasurementError);
}

}  // namespace
}  // namespace rdmameter
