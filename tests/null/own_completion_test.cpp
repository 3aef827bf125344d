// SPDX-License-Identifier: Apache-2.0
// A ping-pong whose answers come before the completions of what they answer: the next message does
// not wait for them.
#include <gtest/gtest.h>

#include "core/engine/loop/ping_pong.h"
#include "tests/null/null_case.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kPolls = 50;

/// Of the one test that runs.
struct Sends {
  ibv_cq* cq = nullptr;
  std::uint64_t posted = 0, found = 0, empty = 0;
  std::uint64_t waited_for = 0;  ///< completions that came only after kPolls polls
};
Sends sends;

struct CountingPost {
  static int post(const LoopState& loop_state, const Lane& lane, ibv_send_wr* head) noexcept {
    ++sends.posted;
    return ClassicPost::post(loop_state, lane, head);
  }
};

/// A send's completion is there once the next one has been posted; else after some polls.
struct LateCq : ClassicCq {
  template <bool kImmediate = false>
  static int poll(ibv_cq* cq, int max, ibv_wc* wcs) noexcept {
    if (cq != sends.cq) return ClassicCq::poll<kImmediate>(cq, max, wcs);
    const bool there = sends.posted - sends.found > 1;
    if (!there && ++sends.empty < kPolls) return 0;
    const int polled = ClassicCq::poll<kImmediate>(cq, max, wcs);
    if (polled == 0) return 0;
    if (!there) ++sends.waited_for;
    sends.empty = 0;
    ++sends.found;
    return polled;
  }
};

using P = Policy<CounterClock, SpinWait, CountingPost, LateCq>;

LoopResult ping(NullSide& side) {
  sends = {.cq = side.work.loop_state().send_cq.cq};
  return ping_pong_initiator<ByReceive, false, P>(side.work.loop_state(), side.plan,
                                                  side.clock.counter, side.stop, side.tally);
}

TEST(OwnCompletions, AreLeftWhereThePongComesFirst) {
  NullSide side{null_case(Opcode::send, Pattern::ping_pong)};
  EXPECT_EQ(ping(side).why, LoopResult::Why::done);
  EXPECT_EQ(side.tally.operations, side.plan.operations);
  EXPECT_EQ(sends.found, sends.posted);
  // The last one of the warm-up and of each slice of the measured part.
  EXPECT_LE(sends.waited_for, 3U);
}

/// Their queue has room for no more.
TEST(OwnCompletions, OfARareSignalAreWaitedFor) {
  constexpr std::uint64_t kEvery = 4;
  TestCase test_case = null_case(Opcode::send, Pattern::ping_pong);
  test_case.queues.signal_every = kEvery;
  NullSide side{test_case};
  EXPECT_EQ(ping(side).why, LoopResult::Why::done);
  EXPECT_EQ(sends.found, sends.posted / kEvery);
}

TEST(OwnCompletions, OfAResponderAreLeftWhereTheNextPingComesFirst) {
  constexpr std::uint64_t kAnswers = 500;
  NullSide side{
      null_case(Opcode::send, Pattern::ping_pong), Role::responder, {.silent_after = kAnswers}};
  NullQp& qp = *reinterpret_cast<NullQp*>(side.endpoint.view().qps[0]);
  null_verbs::complete(*qp.recv_cq, qp, qp.receives[qp.receives_out++], IBV_WC_RECV,
                       IBV_WC_SUCCESS);
  sends = {.cq = side.work.loop_state().send_cq.cq};
  side.stop.request(StopReason::finish);
  const LoopResult end = ping_pong_responder<ByReceive, false, P>(
      side.work.loop_state(), side.plan, side.clock.counter, side.stop, side.tally);
  EXPECT_EQ(end.why, LoopResult::Why::stopped);
  EXPECT_GE(side.tally.operations, kAnswers);
  EXPECT_GE(sends.found, kAnswers);
  EXPECT_LE(sends.waited_for, 1U);
}

}  // namespace
}  // namespace rdmameter
