// SPDX-License-Identifier: Apache-2.0
// The work that is built before the clock starts: layout, lists, rings, payload patterns.
#include "core/engine/work.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <set>
#include <utility>

#include "core/engine/layout/verify.h"
#include "core/engine/loop/step.h"
#include "tests/null/null_case.h"

namespace rdmameter {
namespace {

TestCase bandwidth(Opcode opcode, std::uint64_t size_bytes) {
  TestCase test_case = null_case(opcode, Pattern::bandwidth);
  test_case.size_bytes = size_bytes;
  return test_case;
}

TEST(Layout, DataLeavesTheInitiatorOfAWriteAndTheResponderOfARead) {
  const TestCase write = bandwidth(Opcode::rdma_write, 64), read = bandwidth(Opcode::rdma_read, 64);
  EXPECT_GT(layout_of(write, Role::initiator).source.slots, 0U);
  EXPECT_EQ(layout_of(write, Role::initiator).target.slots, 0U);
  EXPECT_EQ(layout_of(read, Role::initiator).source.slots, 0U);
  EXPECT_GT(layout_of(read, Role::responder).source.slots, 0U);
}

TEST(Layout, BothEndsOfAOneSidedCaseAgreeOnTheSlots) {
  for (const std::uint64_t size : {1, 64, 4095, 4096, 1 << 20}) {
    const Area from = layout_of(bandwidth(Opcode::rdma_write, size), Role::initiator).source;
    const Area to = layout_of(bandwidth(Opcode::rdma_write, size), Role::responder).target;
    EXPECT_EQ(from.slots, to.slots);
    EXPECT_EQ(from.stride_bytes, to.stride_bytes);
  }
}

TEST(Layout, EverySlotHasAGuardBehindItsPayload) {
  for (const std::uint64_t size : {1, 63, 64, 65, 4095, 4096, 4097, 1 << 20}) {
    TestCase test_case = bandwidth(Opcode::send, size);
    if (size <= 4096) test_case.transport = Transport::ud;
    const Area area = layout_of(test_case, Role::responder).target;
    EXPECT_GT(area.stride_bytes, area.head_bytes + size);
    EXPECT_EQ(area.head_bytes, size <= 4096 ? kGrhBytes : 0);
  }
}

TEST(Layout, ThousandsOfQpsShareABoundedBufferWithOneSlotEachAtLeast) {
  TestCase test_case = bandwidth(Opcode::rdma_write, 64);
  test_case.qps = 65536;
  const Area area = layout_of(test_case, Role::initiator).source;
  EXPECT_GE(area.slots, 1U);
  EXPECT_LE(area.total_bytes(), 512U << 20);
}

/// A bandwidth whose receiver reads numbers out of the payload.
TestCase numbered_bandwidth(Transport transport, std::uint64_t size_bytes, std::uint64_t depth) {
  TestCase test_case = null_case(Opcode::send, Pattern::bandwidth, transport);
  test_case.size_bytes = size_bytes;
  test_case.queues.depth = depth;
  test_case.queues.signal_every = 1;
  return test_case;
}

TEST(Layout, EachWrOfAChainHasASlotOfItsOwnWhereMessagesAreNumbered) {
  for (const Transport transport : {Transport::uc, Transport::ud})
    for (const std::uint64_t depth : {128, 129, 256, 700, 1000})
      for (const std::uint64_t signal_every : {1, 32, 50, 64}) {
        TestCase test_case = numbered_bandwidth(transport, 64, depth);
        test_case.queues.signal_every = signal_every;
        ASSERT_EQ(numbers_sent(test_case), NumberPlace::payload);
        EXPECT_EQ(send_chain_length(test_case, Role::initiator),
                  layout_of(test_case, Role::initiator).source.slots)
            << depth << " " << signal_every;
      }
}

TEST(Layout, NoChainIsLongForTheSakeOfSlotsThatDoNotFit) {
  for (const std::uint64_t size : {130, 1024, 4096})
    for (const std::uint64_t depth : {80, 129, 700, 5400})
      for (const std::uint64_t signal_every : {1, 32, 50, 64}) {
        TestCase test_case = numbered_bandwidth(Transport::uc, size, depth);
        test_case.queues.signal_every = signal_every;
        const std::uint64_t whole = (depth + signal_every - 1) / signal_every * signal_every;
        EXPECT_LE(send_chain_length(test_case, Role::initiator),
                  std::max<std::uint64_t>(4096 + depth, whole))
            << size << " " << depth << " " << signal_every;
      }
}

TEST(Layout, NoTwoPostedReceivesShareASlotWhereMessagesAreRead) {
  for (const Transport transport : {Transport::uc, Transport::ud})
    for (const std::uint64_t size : {4, 64, 1024, 4096})
      for (const std::uint64_t depth : {1, 16, 128})
        for (const std::uint64_t rx_depth : {1, 200, 512, 4096})
          for (const RecvQueue recv : {RecvQueue::rq, RecvQueue::srq}) {
            TestCase test_case = numbered_bandwidth(transport, size, depth);
            test_case.queues.rx_depth = rx_depth;
            test_case.queues.recv = recv;
            test_case.qps = 3;
            ASSERT_EQ(numbers_read(test_case), NumberPlace::payload);
            const Area area = layout_of(test_case, Role::responder).target;
            EXPECT_EQ(area.slots, rx_depth) << size;
            EXPECT_EQ(queue_depths_of(test_case, Role::responder).receive, rx_depth) << size;
          }
}

TEST(Layout, AReceiveQueueIsShallowerWhereItsSlotsWouldTakeTooMuchMemory) {
  struct Deep {
    std::uint64_t size_bytes, depth, rx_depth, qps, list, posted;
  };
  const std::uint64_t found = kAuto;
  for (const Deep& deep :
       {Deep{64 << 10, 8, 512, 1, found, 512}, Deep{1 << 20, 1, 512, 1, found, 56},
        Deep{1 << 20, 1, 512, 1, 32, 32}, Deep{1 << 20, 1, 512, 1, 512, 512},  // one list at least
        Deep{64, 1, 1 << 20, 1, found, 512 << 10}, Deep{64, 128, 512, 16384, found, 512},
        Deep{64, 128, 4096, 16384, found, 512}}) {
    TestCase test_case = numbered_bandwidth(Transport::uc, deep.size_bytes, deep.depth);
    test_case.queues.rx_depth = deep.rx_depth;
    test_case.queues.recv_post_list = deep.list;
    test_case.qps = deep.qps;
    ASSERT_EQ(numbers_read(test_case), NumberPlace::payload);
    const std::uint64_t posted = posted_receives(test_case);
    EXPECT_EQ(posted, deep.posted) << deep.size_bytes;
    EXPECT_EQ(layout_of(test_case, Role::responder).target.slots, posted);
    EXPECT_EQ(queue_depths_of(test_case, Role::responder).receive, posted);
    const std::uint32_t list = receive_list_length(test_case);
    EXPECT_EQ(posted % list, 0U);
    if (deep.list == found && posted != deep.rx_depth) {
      EXPECT_LE(list, posted / 4);
    }
  }
}

TEST(Layout, APingPongWhoseNumbersAreReadKeepsItsMemoryAndPostsFewerReceives) {
  struct Pong {
    Transport transport;
    std::uint64_t size_bytes, posted;
  };
  for (const Pong& pong : {Pong{Transport::ud, 64, 512}, Pong{Transport::ud, 4096, 128},
                           Pong{Transport::uc, 64 << 10, 14}, Pong{Transport::uc, 1 << 20, 2},
                           Pong{Transport::uc, 1 << 30, 2}})
    for (const Role role : {Role::initiator, Role::responder}) {
      TestCase test_case = null_case(Opcode::send, Pattern::ping_pong, pong.transport);
      test_case.size_bytes = pong.size_bytes;
      EXPECT_EQ(posted_receives(test_case), pong.posted) << pong.size_bytes;
      EXPECT_EQ(layout_of(test_case, role).target.slots, pong.posted);
      // The next ping comes while the list of the one before is being posted again.
      EXPECT_LT(receive_list_length(test_case), pong.posted);
    }
}

TEST(Layout, OfAGroupsPongsEachHasAReceiveAndTheSlotsOfManyReceiversAreFewer) {
  TestCase test_case = null_case(Opcode::mcast_send, Pattern::ping_pong, Transport::ud);
  test_case.size_bytes = 4096;
  test_case.peers = 300;
  EXPECT_EQ(posted_receives(DeviceCase::usual(test_case, Role::initiator)), 512U);
  EXPECT_EQ(posted_receives(DeviceCase::usual(test_case, Role::responder)), 96U);
  for (const Role role : {Role::initiator, Role::responder}) {
    const DeviceCase settled = DeviceCase::usual(test_case, role);
    EXPECT_EQ(layout_of(settled, role).target.slots, posted_receives(settled));
  }
}

TEST(Layout, WhereNothingIsReadReceivesTakeTurnsInAMiB) {
  const auto expect_turns = [](const TestCase& test_case) {
    EXPECT_FALSE(reads_receives(test_case));
    EXPECT_EQ(posted_receives(test_case), 512U);
    EXPECT_EQ(layout_of(test_case, Role::responder).target.slots, 128U);
  };
  TestCase test_case = numbered_bandwidth(Transport::uc, 4096, 16);
  test_case.opcode = Opcode::send_imm;
  expect_turns(test_case);
  test_case.pattern = Pattern::ping_pong;
  expect_turns(test_case);
  test_case = numbered_bandwidth(Transport::rc, 4096, 16);
  test_case.verify = true;
  expect_turns(test_case);
  test_case = numbered_bandwidth(Transport::ud, 4096, 16);
  test_case.peers = 1;
  test_case.responder.memory = kDeviceMemory;
  EXPECT_FALSE(reads_receives(test_case)) << "the CPU does not reach it";
  EXPECT_EQ(posted_receives(test_case), 512U);
  EXPECT_LE(layout_of(test_case, Role::responder).target.total_bytes(), 64U << 10);
}

TEST(ReceiveLists, TileTheReceiveQueue) {
  for (std::uint32_t depth = 1; depth < 600; ++depth) {
    const std::uint32_t length = receive_list_length(depth);
    EXPECT_EQ(depth % length, 0U) << depth;
    EXPECT_LE(length, 16U);
  }
  EXPECT_EQ(receive_list_length(512), 16U);
  EXPECT_EQ(receive_list_length(509), 1U);  // a prime
}

/// An SRQ that remembers what was posted to it.
struct FakeSrq {
  static int post(ibv_srq* srq, ibv_recv_wr* wr, ibv_recv_wr**) {
    auto& posted = *static_cast<std::vector<std::uint64_t>*>(srq->srq_context);
    for (; wr != nullptr; wr = wr->next) posted.push_back(wr->wr_id);
    return 0;
  }
  FakeSrq() {
    context.ops.post_srq_recv = post;
    srq.context = &context;
    srq.srq_context = &posted;
  }
  ibv_context context{};
  ibv_srq srq{};
  std::vector<std::uint64_t> posted;
};

TEST(ReceiveLists, OfAnSrqAreNotPostedAgainWhileAReceiveOfTheirsIsOut) {
  TestCase test_case = null_case(Opcode::send, Pattern::bandwidth, Transport::ud);
  test_case.qps = 2;
  test_case.queues.recv = RecvQueue::srq;
  test_case.queues.rx_depth = 64;
  NullEndpoint endpoint{test_case, Role::responder};
  FakeSrq fake;
  EndpointView view = endpoint.view();
  view.srq = &fake.srq;
  Work work{test_case, Role::responder, endpoint.layout(), view};
  work.post_receives();
  ASSERT_EQ(fake.posted.size(), 64U);
  const std::vector<std::uint64_t> first = std::exchange(fake.posted, {});
  std::set<const volatile std::uint8_t*> places;
  const auto receive = [](std::uint64_t wr_id) -> RecvWork& {
    return *reinterpret_cast<RecvWork*>(wr_id);
  };
  for (const std::uint64_t wr_id : first) places.insert(receive(wr_id).number);
  EXPECT_EQ(places.size(), 64U);
  // One QP has taken the odd ones, the other has not ended the even ones.
  for (std::size_t i = 1; i < 64; i += 2) EXPECT_EQ(replenish(*receive(first[i]).ring), 0);
  EXPECT_TRUE(fake.posted.empty());
  for (std::size_t i = 0; i < 32; i += 2) EXPECT_EQ(replenish(*receive(first[i]).ring), 0);
  EXPECT_EQ(fake.posted, std::vector<std::uint64_t>(first.begin(), first.begin() + 32));
  EXPECT_EQ(work.arrivals(), std::vector<std::uint64_t>{48});
}

TEST(SendChain, HoldsWholePeriodsAndAtLeastTheDepth) {
  for (const std::uint32_t signal_every : {1, 3, 16, 100})
    for (const std::uint32_t post_list : {1, 4, 7})
      for (const std::uint32_t depth : {1, 64, 128, 5000})
        for (const std::uint64_t slots : {1, 3, 128}) {
          const std::uint32_t chain = send_chain_length(signal_every, post_list, depth, slots);
          EXPECT_EQ(chain % std::lcm(signal_every, post_list), 0U);
          EXPECT_GE(chain, depth);
          EXPECT_EQ(send_chain_length(signal_every, post_list, depth, slots, 11) % 11, 0U);
        }
}

TEST(Work, GivesEverySlotItsTurn) {
  NullSide runner{bandwidth(Opcode::rdma_write, 64)};
  std::set<std::uint64_t> addresses;
  const SendList* list = runner.work.loop_state().lanes[0].send;
  for (int i = 0; i < 128; ++i, list = list->next) addresses.insert(list->head->sg_list->addr);
  EXPECT_EQ(addresses.size(), 128U);
}

TEST(Work, InlinesWhatFitsAndNothingElse) {
  TestCase test_case = bandwidth(Opcode::rdma_write, 64);
  test_case.queues.inline_bytes = 64;
  EXPECT_TRUE(NullSide{test_case}.work.inlined());
  test_case.queues.inline_bytes = 63;
  EXPECT_FALSE(NullSide{test_case}.work.inlined());
  test_case.queues.inline_bytes = 0;
  EXPECT_FALSE(NullSide{test_case}.work.inlined());
}

TEST(Work, SendsOverUdCarryTheAddressAndReceivesLeaveRoomForTheGrh) {
  TestCase test_case = null_case(Opcode::send, Pattern::ping_pong, Transport::ud);
  NullSide runner{test_case};
  const Lane& lane = runner.work.loop_state().lanes[0];
  EXPECT_EQ(lane.send->head->wr.ud.remote_qpn, runner.endpoint.view().remote_qpns[0]);
  const NullQp& qp = *reinterpret_cast<const NullQp*>(lane.qp);
  const auto& receive = *reinterpret_cast<const RecvWork*>(qp.receives.front());
  EXPECT_EQ(receive.ring->next->head->sg_list->length, kGrhBytes + test_case.size_bytes);
}

TEST(Work, SendsToAllPeersInTurnRoundAndRound) {
  TestCase test_case = null_case(Opcode::send, Pattern::bandwidth, Transport::ud);
  test_case.peers = 3;
  test_case.queues.signal_every = 4;
  test_case.queues.post_list = 2;
  NullEndpoint endpoint{test_case, Role::initiator};
  EndpointView view = endpoint.view();
  view.remote_qpns = {7, 8, 9};
  std::array<ibv_ah, 3> handles{};
  view.ahs = {&handles[0], &handles[1], &handles[2]};
  Work work{test_case, Role::initiator, endpoint.layout(), view};
  const SendList* list = work.loop_state().lanes[0].send;
  for (std::uint32_t i = 0; i < 2 * send_chain_length(test_case, Role::initiator);
       i += 2, list = list->next) {
    EXPECT_EQ(list->head->wr.ud.remote_qpn, 7 + i % 3);
    EXPECT_EQ(list->head->wr.ud.ah, &handles[i % 3]);
    EXPECT_EQ(list->head->next->wr.ud.remote_qpn, 7 + (i + 1) % 3);
  }
}

TEST(Work, CountsWhatEachReceiveQueueTook) {
  TestCase test_case = null_case(Opcode::send, Pattern::bandwidth);
  test_case.qps = 3;
  NullSide runner{test_case, Role::responder};
  EXPECT_EQ(runner.work.arrivals(), (std::vector<std::uint64_t>{0, 0, 0}));
  runner.plan.expected.store(5000);
  runner.stop.request(StopReason::finish);
  runner.run();
  const std::vector<std::uint64_t> arrivals = runner.work.arrivals();
  EXPECT_EQ(std::accumulate(arrivals.begin(), arrivals.end(), std::uint64_t{0}),
            runner.tally.total);
}

/// A target as the peer's traffic should leave it.
struct Delivered {
  explicit Delivered(std::uint64_t size_bytes, std::uint64_t head_bytes = 0,
                     std::uint64_t sges = 1) {
    area = {.slots = 4,
            .stride_bytes = 256,
            .head_bytes = head_bytes,
            .payload_bytes = size_bytes,
            .qps = 2,
            .pieces = pieces_of(Split::even, sges, size_bytes, head_bytes)};
    bytes.resize(area.total_bytes());
    poison_target(bytes);
    fill_source(bytes, area, pattern);
  }
  Verdict check(std::uint64_t min_slots = 4, bool skip_last = false) const {
    return check_target(bytes, area, pattern, {.last = skip_last ? 1U : 0U}, min_slots);
  }
  PayloadPattern pattern{.seed = 7, .by_slot = true};
  Area area;
  std::vector<std::byte> bytes;
};

TEST(Verify, FindsNothingWrongWithWhatArrivedWhole) {
  for (const std::uint64_t size : {1, 7, 8, 9, 200}) {
    const Verdict verdict = Delivered{size, 40}.check();
    EXPECT_EQ(verdict.checked_bytes, 8 * size);
    EXPECT_EQ(verdict.wrong_bytes + verdict.missing_bytes + verdict.guard_bytes_hit, 0U) << size;
    EXPECT_EQ(verdict.first_fault, "");
  }
}

TEST(Verify, FindsAnyOneWrongByteAndSaysWhere) {
  Delivered target{100};
  for (std::uint64_t at = 0; at < 100; ++at) {
    std::byte& byte = target.bytes[target.area.payload(1, 2) + at];
    byte ^= std::byte{1};
    const Verdict verdict = target.check();
    EXPECT_EQ(verdict.wrong_bytes + verdict.missing_bytes, 1U) << at;
    EXPECT_NE(verdict.first_fault.find("slot 2 of QP 1"), std::string::npos);
    byte ^= std::byte{1};
  }
}

TEST(Verify, TellsAMessageThatNeverCameFromAWrongOne) {
  Delivered target{100};
  for (std::uint64_t at = 0; at < 100; ++at)
    target.bytes[target.area.payload(0, 3) + at] = std::byte{0xa5};
  // Of random bytes one in 256 equals the poison.
  EXPECT_GT(target.check().missing_bytes, 90U);
  EXPECT_EQ(target.check().wrong_bytes, 0U);
  EXPECT_EQ(target.check(3).missing_bytes, 0U) << "a later slot need not have been used";
}

TEST(Verify, FindsAMessageThatIsInAnothersPlace) {
  Delivered target{100};
  std::copy_n(target.bytes.begin() + target.area.payload(0, 0), 100,
              target.bytes.begin() + target.area.payload(0, 1));
  EXPECT_GT(target.check().wrong_bytes, 50U);
}

TEST(Verify, FindsBytesWrittenBehindTheMessage) {
  Delivered target{100};
  target.bytes[target.area.payload(0, 0) + 100] = std::byte{0};
  EXPECT_EQ(target.check().guard_bytes_hit, 1U);
}

TEST(Verify, LeavesAPingPongsNumberOut) {
  Delivered target{100};
  target.bytes[target.area.payload(0, 0) + 99] ^= std::byte{0xff};
  EXPECT_EQ(target.check(4, true).wrong_bytes, 0U);
  EXPECT_EQ(target.check(4, false).wrong_bytes, 1U);
}

TEST(Verify, LeavesANumberAtTheBeginOutAlsoWhereItIsScattered) {
  for (const std::uint64_t sges : {1, 3}) {
    Delivered target{6, 0, sges};  // in three pieces, two bytes are in each
    for (std::uint64_t at = 0; at < 4; ++at) {
      std::uint64_t piece = 0, before = 0;
      while (before + target.area.pieces[piece].length <= at)
        before += target.area.pieces[piece++].length;
      target.bytes[target.area.slot(1, 1) + target.area.pieces[piece].offset + at - before] ^=
          std::byte{1};
    }
    const auto wrong = [&](Skip skip) {
      const Verdict verdict = check_target(target.bytes, target.area, target.pattern, skip, 4);
      return verdict.wrong_bytes + verdict.missing_bytes;
    };
    EXPECT_EQ(wrong({}), 4U) << sges;
    EXPECT_EQ(wrong({.first = 3}), 1U) << sges;
    EXPECT_EQ(wrong({.first = 4}), 0U) << sges;
  }
}

TEST(Verify, CountsTheMessagesThatAreThereWhole) {
  Delivered target{100};
  EXPECT_EQ(target.check(0).whole_slots, 8U);
  poison_target(std::span(target.bytes).subspan(target.area.slot(0, 1), 256));  // never came
  poison_target(std::span(target.bytes).subspan(target.area.slot(1, 2), 50));   // half of it did
  const Verdict verdict = target.check(0);
  EXPECT_EQ(verdict.whole_slots, 6U);
  EXPECT_EQ(verdict.wrong_bytes, 0U);
}

TEST(Verify, NoRandomMessageLooksAsIfItHadNotCome) {
  Delivered target{1};
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    target.pattern.seed = seed;
    poison_target(target.bytes);
    fill_source(target.bytes, target.area, target.pattern);
    EXPECT_EQ(target.check(0).whole_slots, 8U) << seed;
  }
}

TEST(Verify, HoldsMessagesToThePayloadsFile) {
  Delivered target{100};
  target.pattern.repeated = "0123456789abc";
  fill_source(target.bytes, target.area, target.pattern);
  EXPECT_EQ(target.check().whole_slots, 8U);
  EXPECT_EQ(target.bytes[target.area.payload(1, 3) + 14], std::byte{'1'});
  target.bytes[target.area.payload(1, 3) + 14] = std::byte{'2'};
  EXPECT_EQ(target.check().wrong_bytes, 1U);
}

TEST(Verify, TheTwoEndsSendDifferentBytes) {
  const auto seed = [](std::uint64_t case_seed, Role sender) {
    return pattern_of(bandwidth(Opcode::send, 64), case_seed, sender).seed;
  };
  EXPECT_NE(seed(1, Role::initiator), seed(1, Role::responder));
  EXPECT_NE(seed(1, Role::initiator), seed(2, Role::initiator));
}

}  // namespace
}  // namespace rdmameter
