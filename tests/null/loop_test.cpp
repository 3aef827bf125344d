// SPDX-License-Identifier: Apache-2.0
// The measured loops on the null device: what they count, how they end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <vector>

#include "core/histogram_data.h"
#include "core/loop/gate.h"
#include "tests/null/null_case.h"

namespace rdmameter {
namespace {

Case ping_pong(Opcode opcode, Transport transport = Transport::rc) {
  return null_case(opcode, Pattern::ping_pong, transport);
}

/// Each case over one QP and over three, by both ways to post and to poll.
std::vector<Case> every_way(const std::vector<Case>& cases) {
  std::vector<Case> made;
  for (Case one_case : cases)
    for (const std::uint64_t qps : {1, 3})
      for (std::uint64_t sharing = 0; sharing < (qps == 1 ? 1 : 2); ++sharing)
        for (const std::uint64_t api : {0, 1})
          for (const std::uint64_t cq : {0, 1}) {
            if (sharing != 0 && api != 0) continue;  // has nothing to do with it
            one_case.qps = qps;
            one_case.cq_sharing = sharing;
            one_case.api = api;
            one_case.cq = cq;
            made.push_back(one_case);
          }
  return made;
}

class EveryLatency : public ::testing::TestWithParam<Case> {};

TEST_P(EveryLatency, TakesOneSampleForEachMeasuredRoundAndNoneForTheWarmUp) {
  NullSide side{GetParam()};
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  EXPECT_EQ(side.tally.operations, 1000U);
  EXPECT_EQ(snapshot(*side.latency).count, 1000U);
  EXPECT_EQ(snapshot(*side.scratch).count, 100U);
  EXPECT_EQ(side.tally.total, 1100U);
  EXPECT_EQ(side.tally.lost, 0U);
}

TEST_P(EveryLatency, EndsAfterItsDuration) {
  Case one_case = GetParam();
  one_case.iterations = 0;
  one_case.duration_ns = 20'000'000;  // of the test's clock, whose ticks count half a nanosecond
  NullSide side{one_case};
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  EXPECT_GT(side.tally.operations, 100U);
  EXPECT_GE(side.tally.elapsed_ns, one_case.duration_ns);
  EXPECT_LT(side.tally.elapsed_ns, 40 * one_case.duration_ns);
  EXPECT_EQ(snapshot(*side.latency).count, side.tally.operations);
}

TEST_P(EveryLatency, NamesTheErrnoOfARefusedPost) {
  NullSide side{GetParam(), Role::initiator, {.fail_post = 150}};
  const LoopEnd end = side.run();
  EXPECT_EQ(end.why, LoopEnd::Why::post_failed);
  EXPECT_EQ(end.error, ENOMEM);
  EXPECT_EQ(side.tally.operations, 149 * GetParam().qps - 100);  // the faults are a QP's
}

TEST_P(EveryLatency, NamesTheStatusOfABadCompletion) {
  NullSide side{GetParam(), Role::initiator, {.fail_completion = 150}};
  const LoopEnd end = side.run();
  EXPECT_EQ(end.why, LoopEnd::Why::completion_failed);
  EXPECT_EQ(end.status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(end.qp_num, 1U);
}

TEST_P(EveryLatency, EndsWhenAskedToWhileItWaitsForAnAnswerThatNeverComes) {
  Case one_case = GetParam();
  one_case.loss_timeout_ns = 1'000'000'000'000;
  NullSide side{one_case, Role::initiator, {.silent_after = 200}};
  std::thread stopper{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    side.stop.request(StopReason::deadline);
  }};
  EXPECT_EQ(side.run().why, LoopEnd::Why::stopped);
  stopper.join();
  EXPECT_EQ(side.tally.operations, 200 * GetParam().qps - 100);
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  constexpr const char* kOpcodes[] = {"Send",     "Write",   "Read", "SendImm",  "WriteImm",
                                      "FetchAdd", "CmpSwap", "Tcp",  "Multicast"};
  constexpr const char* kTransports[] = {"Rc", "Uc", "Ud"};
  const bool completion = info.param.shape() == Pattern::completion_latency;
  return fmt::format("{}{}{}{}Qps{}{}{}", kOpcodes[info.param.opcode], completion ? "Cqe" : "",
                     kTransports[info.param.transport], info.param.qps,
                     info.param.cq_per_qp() ? "CqEach" : "", info.param.extended_api() ? "Wr" : "",
                     info.param.extended_cq() ? "CqEx" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Loops, EveryLatency,
    ::testing::ValuesIn(every_way(
        {ping_pong(Opcode::send), ping_pong(Opcode::send, Transport::uc),
         ping_pong(Opcode::send, Transport::ud), ping_pong(Opcode::rdma_write),
         ping_pong(Opcode::rdma_write, Transport::uc), ping_pong(Opcode::send_imm),
         ping_pong(Opcode::send_imm, Transport::ud), ping_pong(Opcode::write_imm),
         ping_pong(Opcode::write_imm, Transport::uc), ping_pong(Opcode::mcast_send, Transport::ud),
         null_case(Opcode::rdma_read, Pattern::completion_latency),
         null_case(Opcode::rdma_write, Pattern::completion_latency),
         null_case(Opcode::fetch_add, Pattern::completion_latency),
         null_case(Opcode::cmp_swap, Pattern::completion_latency)})),
    name_of);

class LossyPingPong : public ::testing::TestWithParam<Case> {};

TEST_P(LossyPingPong, CountsALostPongOnceAndGoesOn) {
  NullSide side{GetParam(), Role::initiator, {.lose_every = 10}};
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  EXPECT_EQ(side.tally.operations, 1000U);
  std::uint64_t lost = 0;  // every tenth of each QP, whose turns begin in the warm-up
  for (std::uint64_t qp = 0, qps = GetParam().qps; qp < qps; ++qp) {
    const auto turns = [&](std::uint64_t rounds) { return (rounds - qp + qps - 1) / qps; };
    lost += turns(1100) / 10 - turns(100) / 10;
  }
  EXPECT_EQ(side.tally.lost, lost);
  EXPECT_EQ(snapshot(*side.latency).count, 1000U - lost);
  // A lost round is no sample: not even as long as the time-out.
  EXPECT_LT(side.latency->sum_ns() / 900, GetParam().loss_timeout_ns);
}

INSTANTIATE_TEST_SUITE_P(
    Loops, LossyPingPong,
    ::testing::ValuesIn(every_way(
        {ping_pong(Opcode::send, Transport::uc), ping_pong(Opcode::send, Transport::ud),
         ping_pong(Opcode::send_imm, Transport::ud), ping_pong(Opcode::mcast_send, Transport::ud),
         ping_pong(Opcode::write_imm, Transport::uc),
         ping_pong(Opcode::rdma_write, Transport::uc)})),
    name_of);

TEST(Multicast, HasLostARoundThatOneMemberDoesNotAnswer) {
  Case one_case = ping_pong(Opcode::mcast_send, Transport::ud);
  one_case.peers = 2;  // and the null device is one
  one_case.iterations = 30;
  one_case.warmup = 0;
  NullSide side{one_case};
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  EXPECT_EQ(side.tally.operations, 30U);
  EXPECT_EQ(side.tally.lost, 30U);
}

TEST(NullDevice, LetsALoopThatNeverWaitsSeeItsStopWord) {
  for (Case one_case : {ping_pong(Opcode::send), ping_pong(Opcode::rdma_write),
                        null_case(Opcode::rdma_write, Pattern::bandwidth)}) {
    one_case.iterations = 1ULL << 40;
    NullSide side{one_case};
    side.stop.request(StopReason::interrupted);
    EXPECT_EQ(side.run().why, LoopEnd::Why::stopped);
  }
}

TEST(PingPong, IgnoresAPongOfAnEarlierRound) {
  const Case one_case = ping_pong(Opcode::send, Transport::ud);
  NullSide side{one_case};
  // An extra arrival with an old number lies in the queue before the first round.
  NullQp& qp = *reinterpret_cast<NullQp*>(side.endpoint.view().qps[0]);
  NullCq& cq = *qp.recv_cq;
  const std::uint64_t stale = qp.receives[qp.receives_out++];
  *const_cast<std::uint8_t*>(reinterpret_cast<RecvWork*>(stale)->number) = 200;
  cq.ring[cq.in].status = IBV_WC_SUCCESS;
  cq.ring[cq.in++].wr_id = stale;
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  EXPECT_EQ(side.tally.lost, 0U);
  EXPECT_EQ(snapshot(*side.latency).count, 1000U);
}

TEST(PingPong, LeavesSendsUnsignaledAsAskedAndReapsTheOthers) {
  Case one_case = ping_pong(Opcode::send);
  one_case.signal_every = 8;
  NullSide side{one_case};
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  const NullQp& qp = *reinterpret_cast<NullQp*>(side.endpoint.view().qps[0]);
  EXPECT_EQ(qp.completions, 1100U / 8);
  EXPECT_EQ(qp.send_cq->in, qp.send_cq->out);
}

TEST(PingPongResponder, AnswersWhatHasArrivedAndEndsWhenAskedTo) {
  for (const Opcode opcode : {Opcode::send, Opcode::rdma_write}) {
    NullSide side{ping_pong(opcode), Role::responder};
    std::thread stopper{[&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      side.stop.request(StopReason::finish);
    }};
    EXPECT_EQ(side.run().why, LoopEnd::Why::stopped);
    stopper.join();
    EXPECT_EQ(side.tally.total, 0U);
  }
}

TEST(Loops, EndAtOnceWhenTheirTimeIsSetToNowAndCountWhatTheyDid) {
  for (Case one_case : {ping_pong(Opcode::send), ping_pong(Opcode::send, Transport::ud),
                        ping_pong(Opcode::mcast_send, Transport::ud), ping_pong(Opcode::rdma_write),
                        null_case(Opcode::rdma_read, Pattern::completion_latency),
                        null_case(Opcode::rdma_write, Pattern::bandwidth)}) {
    one_case.iterations = 0;
    one_case.duration_ns = kUntilInterrupted;
    NullSide side{one_case};
    std::thread user{[&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      side.tally.last_ticks = 0;
    }};
    EXPECT_EQ(side.run().why, LoopEnd::Why::done);
    user.join();
    EXPECT_GT(side.tally.operations, 0U);
    EXPECT_EQ(snapshot(*side.latency).count,
              side.tally.operations / side.work.traffic().signal_every);
    side.tally.operations = 7;
    EXPECT_EQ(side.run().why, LoopEnd::Why::done) << "told before it begins";
    EXPECT_LE(side.tally.operations, 16 * 32U);
  }
}

TEST(Loops, KeepTheMomentsOfTheirSamples) {
  for (Case one_case : {ping_pong(Opcode::send), ping_pong(Opcode::send_imm, Transport::ud),
                        null_case(Opcode::rdma_read, Pattern::completion_latency)})
    for (const std::uint64_t sharing : {0, 1}) {
      one_case.cq = 1;
      one_case.qps = 2;
      one_case.cq_sharing = sharing;
      one_case.timestamps = 1;
      NullSide side{one_case};
      EXPECT_EQ(side.run().why, LoopEnd::Why::done);
      const std::vector<Moments> moments = side.work.moments();
      EXPECT_EQ(moments.size(), 1000U);
      for (const Moments& each : moments) {
        EXPECT_LT(each.begun, each.posted);
        EXPECT_LT(each.posted, each.seen);
        EXPECT_NE(each.completed, 0U);
      }
    }
}

struct Shape {
  std::uint64_t qps, depth, post_list, signal_every, sharing = 0;
};

class BandwidthShapes : public ::testing::TestWithParam<Shape> {
 protected:
  static Case one_case() {
    Case made = null_case(Opcode::rdma_write, Pattern::bandwidth);
    made.qps = GetParam().qps;
    made.depth = GetParam().depth;
    made.post_list = GetParam().post_list;
    made.signal_every = GetParam().signal_every;
    made.cq_sharing = GetParam().sharing;
    return made;
  }
};

TEST_P(BandwidthShapes, CountsEachMessageOnceAndLeavesNothingBehind) {
  NullSide side{one_case()};
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  const Shape& shape = GetParam();
  // The window closes at the first completion that reaches the goal: at most a batch of completions
  // later.
  EXPECT_GE(side.tally.operations, 1000U);
  EXPECT_LT(side.tally.operations, 1000U + 16 * shape.signal_every + shape.signal_every);
  EXPECT_EQ(side.tally.operations % shape.signal_every, 0U);
  std::uint64_t posted = 0, posts = 0;
  for (ibv_qp* qp : side.endpoint.view().qps) {
    posted += reinterpret_cast<NullQp*>(qp)->messages;
    posts += reinterpret_cast<NullQp*>(qp)->posts;
    EXPECT_GE(reinterpret_cast<NullQp*>(qp)->messages,
              shape.depth / shape.post_list * shape.post_list);
  }
  EXPECT_EQ(side.tally.total, posted);
  EXPECT_EQ(side.tally.doorbells, posts);
  const NullCq& cq = *reinterpret_cast<NullQp*>(side.endpoint.view().qps[0])->send_cq;
  EXPECT_EQ(cq.in, cq.out);
  EXPECT_EQ(snapshot(*side.latency).count, side.tally.operations / shape.signal_every);
}

TEST_P(BandwidthShapes, SignalsEveryNthWrAndNoOther) {
  NullSide side{one_case()};
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  std::uint64_t expected = 0, completions = 0;
  for (ibv_qp* qp : side.endpoint.view().qps) {
    const NullQp& null_qp = *reinterpret_cast<NullQp*>(qp);
    expected += (null_qp.messages - 1) / GetParam().signal_every + 1;  // and the closing one
    completions += null_qp.completions;
  }
  EXPECT_EQ(completions, expected);
}

TEST_P(BandwidthShapes, NeverHasMoreOutstandingThanTheDepth) {
  Case silent = one_case();
  NullSide side{silent, Role::initiator, {.silent_after = 1}};
  side.stop.request(StopReason::deadline);
  EXPECT_EQ(side.run().why, LoopEnd::Why::stopped);
  for (ibv_qp* qp : side.endpoint.view().qps)
    EXPECT_LE(reinterpret_cast<NullQp*>(qp)->messages,
              GetParam().depth + (GetParam().signal_every == 1 ? 1 : 0));
}

INSTANTIATE_TEST_SUITE_P(Loops, BandwidthShapes,
                         ::testing::Values(Shape{1, 1, 1, 1}, Shape{1, 128, 1, 1},
                                           Shape{1, 128, 1, 32}, Shape{1, 128, 1, 128},
                                           Shape{1, 128, 16, 16}, Shape{1, 128, 16, 4},
                                           Shape{1, 128, 4, 16}, Shape{1, 31, 16, 16},
                                           Shape{1, 100, 6, 10}, Shape{7, 128, 3, 5},
                                           Shape{64, 16, 1, 16}, Shape{7, 128, 3, 5, 1},
                                           Shape{64, 16, 1, 16, 1}));

TEST(Bandwidth, EndsAfterItsDurationWithAHistogram) {
  Case one_case = null_case(Opcode::rdma_write, Pattern::bandwidth);
  one_case.iterations = 0;
  one_case.duration_ns = 20'000'000;
  NullSide side{one_case};
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  EXPECT_GE(side.tally.elapsed_ns, one_case.duration_ns);
  EXPECT_GT(side.tally.operations, 1000U);
  EXPECT_GT(snapshot(*side.latency).count, 10U);
}

TEST(Bandwidth, NamesTheStatusOfABadCompletion) {
  NullSide side{
      null_case(Opcode::rdma_write, Pattern::bandwidth), Role::initiator, {.fail_completion = 20}};
  const LoopEnd end = side.run();
  EXPECT_EQ(end.why, LoopEnd::Why::completion_failed);
  EXPECT_EQ(end.status, IBV_WC_RETRY_EXC_ERR);
}

TEST(Receive, EndsWhenEverythingThatWasSentHasArrived) {
  NullSide side{null_case(Opcode::send, Pattern::bandwidth), Role::responder};
  // The first 512 receives are there; the source refills as fast as they are replenished, so ask it
  // to end through a peer that sent less than it supplies: only an empty queue looks at the word.
  NullQp& qp = *reinterpret_cast<NullQp*>(side.endpoint.view().qps[0]);
  qp.source = false;
  side.plan.expected.store(512);
  side.stop.request(StopReason::finish);
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  EXPECT_EQ(side.tally.total, 512U);
}

TEST(Receive, EndsAfterAQuietTimeWhenSomeOfItNeverComes) {
  NullSide side{null_case(Opcode::send, Pattern::bandwidth), Role::responder};
  reinterpret_cast<NullQp*>(side.endpoint.view().qps[0])->source = false;
  side.plan.expected.store(600);
  side.plan.quiet_ns = 5'000'000;
  side.stop.request(StopReason::finish);
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  EXPECT_EQ(side.tally.total, 512U);
  // The window opens with the batch that completes the warm-up of 100: 112 arrivals in batches
  // of 16.
  EXPECT_EQ(side.tally.operations, 512U - 112U);
}

/// Bandwidth under a gate that another loop, or the peer, must pass as well.
TEST(GatedBandwidth, SendsOnUntilEveryWindowIsClosed) {
  NullSide side{null_case(Opcode::rdma_write, Pattern::bandwidth)};
  LoadGate gate{2};
  side.plan.gate = &gate;
  LoopEnd end;
  std::thread other{[&] { end = side.run(); }};
  const auto progress = [&] { return side.tally.progress.load(std::memory_order_relaxed); };
  const auto await = [&](std::uint64_t messages) {
    while (progress() < messages) std::this_thread::yield();
  };
  await(50'000);  // far beyond the warm-up: it waits, and sends
  EXPECT_FALSE(gate.reached_here(LoadGate::Step::closed));
  gate.reach(LoadGate::Step::warm);
  await(progress() + 50'000);  // far beyond the window of 1000: closed, and it sends on
  gate.reach(LoadGate::Step::closed);
  other.join();
  EXPECT_EQ(end.why, LoopEnd::Why::done);
  EXPECT_GE(side.tally.operations, 1000U);
  EXPECT_LT(side.tally.operations, 1000U + 16 * 32);  // what one poll brings
  EXPECT_EQ(snapshot(*side.latency).count, side.tally.operations / 32);
  EXPECT_GT(side.tally.total, 100'000U);
}

}  // namespace
}  // namespace rdmameter
