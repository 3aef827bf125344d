// SPDX-License-Identifier: Apache-2.0
// The measured loops on the null device: what they count, how they end.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "core/engine/loop/window_barrier.h"
#include "core/instrument/histogram_data.h"
#include "tests/null/null_case.h"

namespace rdmameter {
namespace {

TestCase ping_pong(Opcode opcode, Transport transport = Transport::rc) {
  return null_case(opcode, Pattern::ping_pong, transport);
}

TestCase mix_of_all() {
  TestCase test_case = null_case(Opcode::mix, Pattern::open_loop);
  test_case.mix = "read:1+write:1+send:1+fetch_add:1+cmp_swap:1";
  return test_case;
}

/// Each case over one QP and over three, by both ways to post and to poll.
std::vector<TestCase> every_way(const std::vector<TestCase>& cases) {
  std::vector<TestCase> list;
  for (TestCase test_case : cases)
    for (const std::uint64_t qps : {1, 3})
      for (const CqSharing sharing : {CqSharing::shared, CqSharing::per_qp})
        for (const Interface api : {Interface::classic, Interface::extended})
          for (const Interface cq : {Interface::classic, Interface::extended}) {
            const bool per_qp = sharing == CqSharing::per_qp;
            if (per_qp && (qps == 1 || api == Interface::extended)) continue;  // nothing new
            if (test_case.mixed() && api == Interface::extended) continue;     // why_impossible()
            if (test_case.by_extended_alone() && api == Interface::classic) continue;  // the same
            test_case.qps = qps;
            test_case.queues.cq_sharing = sharing;
            test_case.queues.api = api;
            test_case.queues.cq = cq;
            list.push_back(test_case);
          }
  return list;
}

class EveryLatency : public ::testing::TestWithParam<TestCase> {};

TEST_P(EveryLatency, TakesOneSampleForEachMeasuredRoundAndNoneForTheWarmUp) {
  NullSide runner{GetParam()};
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  EXPECT_EQ(runner.tally.operations, 1000U);
  EXPECT_EQ(snapshot(*runner.latency).count, 1000U);
  EXPECT_EQ(snapshot(*runner.scratch).count, 100U);
  EXPECT_EQ(runner.tally.total, 1100U);
  EXPECT_EQ(runner.tally.lost, 0U);
}

TEST_P(EveryLatency, EndsAfterItsDuration) {
  TestCase test_case = GetParam();
  test_case.iterations = 0;
  test_case.duration_ns = 20'000'000;  // of the test's clock, whose ticks count half a nanosecond
  NullSide runner{test_case};
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  // An open loop that was away posts nothing of what fell due meanwhile.
  const OpenLoop* const open_loop = runner.work.loop_state().open_loop;
  // One, not hundreds: another process may have had the core all the time.
  EXPECT_GT(open_loop != nullptr ? open_loop->due : runner.tally.operations, 0U);
  EXPECT_GE(runner.tally.elapsed_ns, test_case.duration_ns);
  EXPECT_LT(runner.tally.elapsed_ns, 40 * test_case.duration_ns);
  EXPECT_EQ(snapshot(*runner.latency).count, runner.tally.operations);
}

TEST_P(EveryLatency, NamesTheErrnoOfARefusedPost) {
  NullSide runner{GetParam(), Role::initiator, {.fail_post = 150}};
  const LoopResult end = runner.run();
  EXPECT_EQ(end.why, LoopResult::Why::post_failed);
  EXPECT_EQ(end.error, ENOMEM);
  EXPECT_EQ(runner.tally.operations, 149 * GetParam().qps - 100);  // the faults are a QP's
}

TEST_P(EveryLatency, NamesTheStatusOfABadCompletion) {
  NullSide runner{GetParam(), Role::initiator, {.fail_completion = 150}};
  const LoopResult end = runner.run();
  EXPECT_EQ(end.why, LoopResult::Why::completion_failed);
  EXPECT_EQ(end.status, IBV_WC_RETRY_EXC_ERR);
  EXPECT_EQ(end.qp_num, 1U);
}

TEST_P(EveryLatency, EndsWhenAskedToWhileItWaitsForAnAnswerThatNeverComes) {
  TestCase test_case = GetParam();
  test_case.loss_timeout_ns = 1'000'000'000'000;
  NullSide runner{test_case, Role::initiator, {.silent_after = 200}};
  std::thread stopper{[&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    runner.stop.request(StopReason::deadline);
  }};
  EXPECT_EQ(runner.run().why, LoopResult::Why::stopped);
  stopper.join();
  EXPECT_EQ(runner.tally.operations, 200 * GetParam().qps - 100);
}

std::string name_of(const ::testing::TestParamInfo<TestCase>& info) {
  constexpr const char* kTransports[] = {"Rc", "Uc", "Ud"};
  const bool completion = info.param.pattern == Pattern::completion_latency;
  const char* const kind = completion ? "Cqe" : info.param.open_loop() ? "Load" : "";
  return fmt::format("{}{}{}{}{}Qps{}{}{}", traits(info.param.opcode).name,
                     info.param.mixes_sends() ? "OfAll" : "", kind,
                     kTransports[static_cast<std::size_t>(info.param.transport)], info.param.qps,
                     info.param.cq_per_qp() ? "CqEach" : "", info.param.extended_api() ? "Wr" : "",
                     info.param.extended_cq() ? "CqEx" : "");
}

INSTANTIATE_TEST_SUITE_P(
    Loops, EveryLatency,
    ::testing::ValuesIn(every_way({ping_pong(Opcode::send),
                                   ping_pong(Opcode::send, Transport::uc),
                                   ping_pong(Opcode::send, Transport::ud),
                                   ping_pong(Opcode::rdma_write),
                                   ping_pong(Opcode::rdma_write, Transport::uc),
                                   ping_pong(Opcode::send_imm),
                                   ping_pong(Opcode::send_imm, Transport::ud),
                                   ping_pong(Opcode::write_imm),
                                   ping_pong(Opcode::write_imm, Transport::uc),
                                   ping_pong(Opcode::mcast_send, Transport::ud),
                                   ping_pong(Opcode::atomic_write),
                                   null_case(Opcode::atomic_write, Pattern::completion_latency),
                                   null_case(Opcode::rdma_read, Pattern::completion_latency),
                                   null_case(Opcode::rdma_write, Pattern::completion_latency),
                                   null_case(Opcode::fetch_add, Pattern::completion_latency),
                                   null_case(Opcode::cmp_swap, Pattern::completion_latency),
                                   null_case(Opcode::send, Pattern::open_loop),
                                   null_case(Opcode::rdma_write, Pattern::open_loop),
                                   null_case(Opcode::rdma_read, Pattern::open_loop),
                                   null_case(Opcode::cmp_swap, Pattern::open_loop),
                                   null_case(Opcode::mix, Pattern::open_loop),
                                   mix_of_all()})),
    name_of);
#ifdef RDMAMETER_IBV_WR_FLUSH
INSTANTIATE_TEST_SUITE_P(Flushes, EveryLatency,
                         ::testing::ValuesIn(every_way({null_case(Opcode::flush,
                                                                  Pattern::completion_latency)})),
                         name_of);
#endif

class LossyPingPong : public ::testing::TestWithParam<TestCase> {};

TEST_P(LossyPingPong, CountsALostPongOnceAndGoesOn) {
  NullSide runner{GetParam(), Role::initiator, {.lose_every = 10}};
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  EXPECT_EQ(runner.tally.operations, 1000U);
  std::uint64_t lost = 0;  // every tenth of each QP, whose turns begin in the warm-up
  for (std::uint64_t qp = 0, qps = GetParam().qps; qp < qps; ++qp) {
    const auto turns = [&](std::uint64_t rounds) { return (rounds - qp + qps - 1) / qps; };
    lost += turns(1100) / 10 - turns(100) / 10;
  }
  EXPECT_EQ(runner.tally.lost, lost);
  EXPECT_EQ(snapshot(*runner.latency).count, 1000U - lost);
  // A lost round is no sample: not even as long as the time-out.
  EXPECT_LT(runner.latency->sum_ns() / 900, GetParam().loss_timeout_ns);
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
  TestCase test_case = ping_pong(Opcode::mcast_send, Transport::ud);
  test_case.peers = 2;  // and the null device is one
  test_case.iterations = 30;
  test_case.warmup = 0;
  NullSide runner{test_case};
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  EXPECT_EQ(runner.tally.operations, 30U);
  EXPECT_EQ(runner.tally.lost, 30U);
}

TEST(NullDevice, LetsALoopThatNeverWaitsSeeItsStopWord) {
  for (TestCase test_case : {ping_pong(Opcode::send), ping_pong(Opcode::rdma_write),
                             null_case(Opcode::rdma_write, Pattern::bandwidth)}) {
    test_case.iterations = 1ULL << 40;
    NullSide runner{test_case};
    runner.stop.request(StopReason::interrupted);
    EXPECT_EQ(runner.run().why, LoopResult::Why::stopped);
  }
}

TEST(PingPong, IgnoresAPongOfAnEarlierRound) {
  const TestCase test_case = ping_pong(Opcode::send, Transport::ud);
  NullSide runner{test_case};
  // An extra arrival with an old number lies in the queue before the first round.
  NullQp& qp = *reinterpret_cast<NullQp*>(runner.endpoint.view().qps[0]);
  NullCq& cq = *qp.recv_cq;
  const std::uint64_t stale = qp.receives[qp.receives_out++];
  *const_cast<std::uint8_t*>(reinterpret_cast<RecvWork*>(stale)->number) = 200;
  cq.ring[cq.in].status = IBV_WC_SUCCESS;
  cq.ring[cq.in++].wr_id = stale;
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  EXPECT_EQ(runner.tally.lost, 0U);
  EXPECT_EQ(snapshot(*runner.latency).count, 1000U);
}

TEST(PingPong, LeavesSendsUnsignaledAsAskedAndReapsTheOthers) {
  TestCase test_case = ping_pong(Opcode::send);
  test_case.queues.signal_every = 8;
  NullSide runner{test_case};
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  const NullQp& qp = *reinterpret_cast<NullQp*>(runner.endpoint.view().qps[0]);
  EXPECT_EQ(qp.completions, 1100U / 8);
  EXPECT_EQ(qp.send_cq->in, qp.send_cq->out);
}

TEST(PingPongResponder, AnswersWhatHasArrivedAndEndsWhenAskedTo) {
  for (const Opcode opcode : {Opcode::send, Opcode::rdma_write}) {
    NullSide runner{ping_pong(opcode), Role::responder};
    std::thread stopper{[&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      runner.stop.request(StopReason::finish);
    }};
    EXPECT_EQ(runner.run().why, LoopResult::Why::stopped);
    stopper.join();
    EXPECT_EQ(runner.tally.total, 0U);
  }
}

/// Tells a loop that its time has come, once it measures. @return had it begun?
bool end_while_it_measures(LoopTally& tally) {
  while (tally.last_ticks == kNotBegun) std::this_thread::yield();
  const std::uint64_t seen = tally.progress;
  while (tally.progress == seen) std::this_thread::yield();
  return tally.end_now();
}

TEST(Loops, EndAtOnceWhenTheirTimeIsSetToNowAndCountWhatTheyDid) {
  constexpr std::uint64_t kHour_ns = 3'600'000'000'000;
  for (const std::uint64_t duration_ns : {kUntilInterrupted, kHour_ns, std::uint64_t{0}})
    for (TestCase test_case :
         {ping_pong(Opcode::send), ping_pong(Opcode::send, Transport::ud),
          ping_pong(Opcode::mcast_send, Transport::ud), ping_pong(Opcode::rdma_write),
          null_case(Opcode::rdma_read, Pattern::completion_latency),
          null_case(Opcode::rdma_write, Pattern::bandwidth)}) {
      test_case.iterations = duration_ns == 0 ? 1ULL << 40 : 0;
      test_case.duration_ns = duration_ns;
      NullSide runner{test_case};
      std::thread user{[&] { EXPECT_TRUE(end_while_it_measures(runner.tally)); }};
      EXPECT_EQ(runner.run().why, LoopResult::Why::done);
      user.join();
      EXPECT_GT(runner.tally.operations, 0U);
      EXPECT_EQ(snapshot(*runner.latency).count,
                runner.tally.operations / runner.work.loop_state().signal_every);
      runner.tally.operations = 7;
      EXPECT_EQ(runner.run().why, LoopResult::Why::done) << "told before it begins";
      EXPECT_LE(runner.tally.operations, 16 * 32U);
    }
}

TEST(Loops, SayWhetherTheyHadBegunToMeasureWhenTheirTimeCame) {
  for (const Pattern pattern : {Pattern::ping_pong, Pattern::bandwidth})
    for (const std::uint64_t iterations : {0, 1000}) {
      TestCase test_case = null_case(Opcode::rdma_write, pattern);
      test_case.iterations = iterations;
      if (iterations == 0) test_case.duration_ns = 1'000'000;
      NullSide early{test_case}, late{test_case};
      EXPECT_FALSE(early.tally.end_now());
      EXPECT_EQ(late.run().why, LoopResult::Why::done);
      EXPECT_TRUE(late.tally.end_now());
    }
}

TEST(Loops, KeepTheMomentsOfTheirSamples) {
  for (TestCase test_case : {ping_pong(Opcode::send), ping_pong(Opcode::send_imm, Transport::ud),
                             null_case(Opcode::rdma_read, Pattern::completion_latency)})
    for (const CqSharing sharing : {CqSharing::shared, CqSharing::per_qp}) {
      test_case.queues.cq = Interface::extended;
      test_case.qps = 2;
      test_case.queues.cq_sharing = sharing;
      test_case.queues.timestamps = true;
      NullSide runner{test_case};
      EXPECT_EQ(runner.run().why, LoopResult::Why::done);
      const std::vector<Timestamps> timestamps = runner.work.timestamps();
      EXPECT_EQ(timestamps.size(), 1000U);
      for (const Timestamps& each : timestamps) {
        EXPECT_LE(each.begun, each.posted);  // a counter of 25 MHz (aarch64) may not have moved
        EXPECT_LE(each.posted, each.seen);
        EXPECT_NE(each.completed, 0U);
      }
    }
}

struct Shape {
  std::uint64_t qps, depth, post_list, signal_every;
  CqSharing sharing = CqSharing::shared;
};

class BandwidthShapes : public ::testing::TestWithParam<Shape> {
 protected:
  static TestCase test_case() {
    TestCase new_case = null_case(Opcode::rdma_write, Pattern::bandwidth);
    new_case.qps = GetParam().qps;
    new_case.queues.depth = GetParam().depth;
    new_case.queues.post_list = GetParam().post_list;
    new_case.queues.signal_every = GetParam().signal_every;
    new_case.queues.cq_sharing = GetParam().sharing;
    return new_case;
  }
};

TEST_P(BandwidthShapes, CountsEachMessageOnceAndLeavesNothingBehind) {
  NullSide runner{test_case()};
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  const Shape& shape = GetParam();
  // The window closes at the first completion that reaches the goal: at most a batch of completions
  // later.
  EXPECT_GE(runner.tally.operations, 1000U);
  EXPECT_LT(runner.tally.operations, 1000U + 16 * shape.signal_every + shape.signal_every);
  EXPECT_EQ(runner.tally.operations % shape.signal_every, 0U);
  std::uint64_t posted = 0, posts = 0;
  for (ibv_qp* qp : runner.endpoint.view().qps) {
    posted += reinterpret_cast<NullQp*>(qp)->messages;
    posts += reinterpret_cast<NullQp*>(qp)->posts;
    EXPECT_GE(reinterpret_cast<NullQp*>(qp)->messages,
              shape.depth / shape.post_list * shape.post_list);
  }
  EXPECT_EQ(runner.tally.total, posted);
  EXPECT_EQ(runner.tally.doorbells, posts);
  EXPECT_GE(runner.tally.cqes * shape.signal_every, runner.tally.operations);
  EXPECT_LE(runner.tally.cqes * shape.signal_every, runner.tally.total);
  const NullCq& cq = *reinterpret_cast<NullQp*>(runner.endpoint.view().qps[0])->send_cq;
  EXPECT_EQ(cq.in, cq.out);
  EXPECT_EQ(snapshot(*runner.latency).count, runner.tally.operations / shape.signal_every);
}

TEST_P(BandwidthShapes, SignalsEveryNthWrAndNoOther) {
  NullSide runner{test_case()};
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  std::uint64_t expected = 0, completions = 0;
  for (ibv_qp* qp : runner.endpoint.view().qps) {
    const NullQp& null_qp = *reinterpret_cast<NullQp*>(qp);
    expected += (null_qp.messages - 1) / GetParam().signal_every + 1;  // and the closing one
    completions += null_qp.completions;
  }
  EXPECT_EQ(completions, expected);
}

TEST_P(BandwidthShapes, NeverHasMoreOutstandingThanTheDepth) {
  TestCase silent = test_case();
  NullSide runner{silent, Role::initiator, {.silent_after = 1}};
  runner.stop.request(StopReason::deadline);
  EXPECT_EQ(runner.run().why, LoopResult::Why::stopped);
  for (ibv_qp* qp : runner.endpoint.view().qps)
    EXPECT_LE(reinterpret_cast<NullQp*>(qp)->messages,
              GetParam().depth + (GetParam().signal_every == 1 ? 1 : 0));
}

INSTANTIATE_TEST_SUITE_P(Loops, BandwidthShapes,
                         ::testing::Values(Shape{1, 1, 1, 1}, Shape{1, 128, 1, 1},
                                           Shape{1, 128, 1, 32}, Shape{1, 128, 1, 128},
                                           Shape{1, 128, 16, 16}, Shape{1, 128, 16, 4},
                                           Shape{1, 128, 4, 16}, Shape{1, 31, 16, 16},
                                           Shape{1, 100, 6, 10}, Shape{7, 128, 3, 5},
                                           Shape{64, 16, 1, 16},
                                           Shape{7, 128, 3, 5, CqSharing::per_qp},
                                           Shape{64, 16, 1, 16, CqSharing::per_qp}));

/// QPs in the order of their posts.
std::vector<ibv_qp*> posted_on;
int (*post_of_null_device)(ibv_qp*, ibv_send_wr*, ibv_send_wr**) = nullptr;

int note_and_post(ibv_qp* qp, ibv_send_wr* wr, ibv_send_wr** bad) {
  posted_on.push_back(qp);
  return post_of_null_device(qp, wr, bad);
}

TEST(Bandwidth, BeginsWithOneListOnEachQpInTurnUntilAllAreFull) {
  TestCase test_case = null_case(Opcode::rdma_write, Pattern::bandwidth);
  test_case.qps = 3;
  test_case.queues.depth = 16;
  test_case.queues.post_list = 4;
  test_case.queues.signal_every = 16;
  NullSide runner{test_case};
  const auto& qps = runner.endpoint.view().qps;
  posted_on.clear();
  post_of_null_device = std::exchange(qps[0]->context->ops.post_send, note_and_post);
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  constexpr std::size_t kLists = 3 * 16 / 4;
  ASSERT_GE(posted_on.size(), kLists);
  for (std::size_t i = 0; i < kLists; ++i) EXPECT_EQ(posted_on[i], qps[i % 3]) << i;
}

TEST(Bandwidth, EndsAfterItsDurationWithAHistogram) {
  TestCase test_case = null_case(Opcode::rdma_write, Pattern::bandwidth);
  test_case.iterations = 0;
  test_case.duration_ns = 20'000'000;
  NullSide runner{test_case};
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  EXPECT_GE(runner.tally.elapsed_ns, test_case.duration_ns);
  EXPECT_GT(runner.tally.operations, 0U);
  EXPECT_GT(snapshot(*runner.latency).count, 0U);
}

TEST(Bandwidth, NamesTheStatusOfABadCompletion) {
  NullSide runner{
      null_case(Opcode::rdma_write, Pattern::bandwidth), Role::initiator, {.fail_completion = 20}};
  const LoopResult end = runner.run();
  EXPECT_EQ(end.why, LoopResult::Why::completion_failed);
  EXPECT_EQ(end.status, IBV_WC_RETRY_EXC_ERR);
}

TEST(Receive, EndsWhenEverythingThatWasSentHasArrived) {
  NullSide runner{null_case(Opcode::send, Pattern::bandwidth), Role::responder};
  // The first 512 receives are there; the source refills as fast as they are replenished, so ask it
  // to end through a peer that sent less than it supplies: only an empty queue looks at the word.
  NullQp& qp = *reinterpret_cast<NullQp*>(runner.endpoint.view().qps[0]);
  qp.source = false;
  runner.plan.expected.store(512);
  runner.stop.request(StopReason::finish);
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  EXPECT_EQ(runner.tally.total, 512U);
}

TEST(Receive, EndsAfterAQuietTimeWhenSomeOfItNeverComes) {
  NullSide runner{null_case(Opcode::send, Pattern::bandwidth), Role::responder};
  reinterpret_cast<NullQp*>(runner.endpoint.view().qps[0])->source = false;
  runner.plan.expected.store(600);
  runner.plan.quiet_ns = 5'000'000;
  runner.stop.request(StopReason::finish);
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  EXPECT_EQ(runner.tally.total, 512U);
  // The window opens with the batch that completes the warm-up of 100: 112 arrivals in batches
  // of 16.
  EXPECT_EQ(runner.tally.operations, 512U - 112U);
}

/// Bandwidth under a windows that another loop, or the peer, must pass as well.
TEST(GatedBandwidth, SendsOnUntilEveryWindowIsClosed) {
  NullSide runner{null_case(Opcode::rdma_write, Pattern::bandwidth)};
  WindowBarrier windows{2};
  runner.plan.windows = &windows;
  LoopResult end;
  std::thread other{[&] { end = runner.run(); }};
  const auto progress = [&] { return runner.tally.progress.load(std::memory_order_relaxed); };
  const auto await = [&](std::uint64_t messages) {
    while (progress() < messages) std::this_thread::yield();
  };
  await(50'000);  // far beyond the warm-up: it waits, and sends
  EXPECT_FALSE(windows.reached_here(WindowBarrier::Step::closed));
  windows.reach(WindowBarrier::Step::warm);
  await(progress() + 50'000);  // far beyond the window of 1000: closed, and it sends on
  windows.reach(WindowBarrier::Step::closed);
  other.join();
  EXPECT_EQ(end.why, LoopResult::Why::done);
  EXPECT_GE(runner.tally.operations, 1000U);
  EXPECT_LT(runner.tally.operations, 1000U + 16 * 32);  // what one poll brings
  EXPECT_EQ(snapshot(*runner.latency).count, runner.tally.operations / 32);
  EXPECT_GT(runner.tally.total, 100'000U);
}

}  // namespace
}  // namespace rdmameter
