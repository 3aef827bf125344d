// SPDX-License-Identifier: Apache-2.0
// The numbers that UC and UD messages carry: what the sender writes, and what the receiver makes of
// any order in which they arrive, held against a look at all of them at once.
#include "core/engine/loop/numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/null/null_case.h"

namespace rdmameter {
namespace {

TestCase numbered(Opcode opcode, std::uint64_t qps = 1) {
  TestCase test_case = null_case(opcode, Pattern::bandwidth,
                                 opcode == Opcode::write_imm ? Transport::uc : Transport::ud);
  test_case.qps = qps;
  return test_case;
}

/// A receiver that is handed numbers.
struct Receiver {
  explicit Receiver(const TestCase& test_case) : runner(test_case, Role::responder) {}

  void take(std::uint32_t number) {
    ibv_wc wc{};
    wc.imm_data = number;
    NumberReader<NumberedImmediate>{arrivals}.note(wc);
  }

  NullSide runner;
  Arrivals& arrivals = runner.work.loop_state().arrivals;
};

struct Figures {
  std::uint64_t duplicated = 0, reordered = 0;
  bool operator==(const Figures&) const = default;
};

/// With everything known: a number seen before came twice, one below the highest came late.
Figures figures_of(const std::vector<std::uint32_t>& numbers) {
  Figures figures;
  std::vector<bool> seen(1 + *std::ranges::max_element(numbers));
  std::int64_t highest = -1;
  for (const std::uint32_t number : numbers) {
    if (seen[number])
      ++figures.duplicated;
    else if (number < highest)
      ++figures.reordered;
    seen[number] = true;
    highest = std::max<std::int64_t>(highest, number);
  }
  return figures;
}

Figures received(const TestCase& test_case, const std::vector<std::uint32_t>& numbers,
                 std::uint32_t offset = 0) {
  Receiver receiver{test_case};
  *receiver.arrivals.next = offset;
  for (const std::uint32_t number : numbers) receiver.take(number + offset);
  return {receiver.arrivals.duplicated, receiver.arrivals.reordered};
}

TEST(Numbers, OfMessagesInTheirOrderTellNothing) {
  EXPECT_EQ(received(numbered(Opcode::send_imm), {0, 1, 2, 3, 4}), (Figures{0, 0}));
  EXPECT_EQ(received(numbered(Opcode::send_imm), {0, 1, 4, 5, 90'000}), (Figures{0, 0})) << "lost";
}

TEST(Numbers, TellWhatCameTwiceFromWhatCameLate) {
  EXPECT_EQ(received(numbered(Opcode::send_imm), {0, 1, 1, 2}), (Figures{1, 0}));
  EXPECT_EQ(received(numbered(Opcode::send_imm), {0, 2, 1, 3}), (Figures{0, 1}));
  EXPECT_EQ(received(numbered(Opcode::send_imm), {0, 2, 1, 1, 2, 3}), (Figures{2, 1}));
  EXPECT_EQ(received(numbered(Opcode::send_imm), {5, 0, 0, 4, 6, 4}), (Figures{2, 2}));
}

TEST(Numbers, AnyMixOfLossDelayAndCopiesIsCountedAsOneWhoSeesAllOfItWould) {
  std::mt19937 random{7};
  for (int round = 0; round < 300; ++round) {
    std::vector<std::pair<double, std::uint32_t>> arrivals;  // (when, number)
    std::uniform_real_distribution<double> chance{0, 1};
    for (std::uint32_t number = 0; number < 2000; ++number) {
      if (chance(random) < 0.1) continue;
      const double late = chance(random) < 0.2 ? 300 * chance(random) : 0;
      arrivals.emplace_back(number + late, number);
      if (chance(random) < 0.1) arrivals.emplace_back(number + 50 * chance(random), number);
    }
    std::ranges::stable_sort(arrivals, {}, &std::pair<double, std::uint32_t>::first);
    std::vector<std::uint32_t> numbers;
    for (const auto& arrival : arrivals) numbers.push_back(arrival.second);
    const Figures expected = figures_of(numbers);
    ASSERT_GT(expected.duplicated, 0U);
    ASSERT_GT(expected.reordered, 0U);
    EXPECT_EQ(received(numbered(Opcode::send_imm), numbers), expected) << round;
    EXPECT_EQ(received(numbered(Opcode::send_imm), numbers, 0xfffffc00), expected)
        << "over the count's end, " << round;
  }
}

TEST(Numbers, OfSeveralQpsAreToldApart) {
  Receiver receiver{numbered(Opcode::send_imm, 3)};
  const std::uint32_t bits = number_count_bits(numbered(Opcode::send_imm, 3));
  EXPECT_EQ(bits, 30U);
  for (const std::uint32_t qp : {0U, 2U, 1U})
    for (const std::uint32_t number : {0U, 2U, 1U, 1U}) receiver.take((qp << bits) | number);
  EXPECT_EQ(receiver.arrivals.reordered, 3U);
  EXPECT_EQ(receiver.arrivals.duplicated, 3U);
  receiver.take(0xffffffff);  // no QP's: nothing happens to the others
}

TEST(Numbers, AreOnEveryMessageThatTheInitiatorPosts) {
  for (const Opcode opcode : {Opcode::send, Opcode::send_imm, Opcode::write_imm})
    for (const std::uint64_t qps : {1, 3})
      for (const std::uint64_t post_list : {1, 16}) {
        TestCase test_case = numbered(opcode, qps);
        test_case.queues.post_list = post_list;
        NullSide runner{test_case};
        EXPECT_EQ(runner.run().why, LoopResult::Why::done);
        std::uint64_t sent = 0;
        for (std::uint64_t qp = 0; qp < qps; ++qp) {
          const Lane& lane = runner.work.loop_state().lanes[qp];
          sent += lane.numbered;
          const std::uint32_t last = lane.number_base | (lane.numbered - 1);
          std::uint32_t in_payload;
          std::memcpy(&in_payload, reinterpret_cast<void*>(lane.closing->sg_list->addr), 4);
          EXPECT_EQ(test_case.immediate() ? lane.closing->imm_data : in_payload, last);
        }
        EXPECT_EQ(sent, runner.tally.total);
      }
}

TEST(Numbers, AreReadByTheReceiversLoop) {
  for (const Opcode opcode : {Opcode::send, Opcode::send_imm, Opcode::write_imm}) {
    NullSide runner{numbered(opcode), Role::responder};
    runner.plan.expected.store(5000);
    runner.stop.request(StopReason::finish);
    EXPECT_EQ(runner.run().why, LoopResult::Why::done);
    EXPECT_GE(runner.tally.total, 5000U);
    EXPECT_EQ(runner.tally.duplicated, 0U);
    EXPECT_EQ(runner.tally.reordered, 0U);
    EXPECT_EQ(*runner.work.loop_state().arrivals.next, runner.tally.total);
  }
}

TEST(Numbers, OfCopiesAreNoGoodput) {
  NullSide runner{numbered(Opcode::send), Role::responder};
  NullQp& qp = *reinterpret_cast<NullQp*>(runner.endpoint.view().qps[0]);
  qp.source = false;  // the 512 that are there, and no more
  for (std::uint32_t i = 0; i < 512; ++i) {
    const std::uint32_t number = i / 2;  // each of them twice
    std::memcpy(
        const_cast<std::uint8_t*>(reinterpret_cast<RecvWork*>(qp.recv_cq->ring[i].wr_id)->number),
        &number, sizeof number);
  }
  runner.plan.expected.store(256);
  runner.stop.request(StopReason::finish);
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  EXPECT_EQ(runner.tally.total, 512U);
  EXPECT_EQ(runner.tally.duplicated, 256U);
  EXPECT_EQ(runner.tally.operations, 256U - 56U) << "the window opens with the 112th arrival";
}

TEST(Numbers, ArePutOnlyWhereNothingUnderWayIsOverwritten) {
  EXPECT_EQ(numbers_sent(numbered(Opcode::send)), NumberPlace::payload);
  EXPECT_EQ(numbers_sent(numbered(Opcode::write_imm)), NumberPlace::immediate);
  TestCase test_case = numbered(Opcode::send);
  test_case.size_bytes = 3;
  EXPECT_EQ(numbers_sent(test_case), NumberPlace::none) << "shorter than a number";
  test_case = numbered(Opcode::send);
  test_case.transport = Transport::uc;
  test_case.size_bytes = 64 << 10;
  EXPECT_EQ(numbers_sent(test_case), NumberPlace::none) << "slots take turns while under way";
  test_case.queues.depth = 8;
  test_case.queues.signal_every = 4;
  EXPECT_EQ(numbers_sent(test_case), NumberPlace::payload);
  test_case.queues.recv_sge = 40'000;
  EXPECT_EQ(numbers_read(test_case), NumberPlace::none) << "its bytes are scattered";
  test_case.transport = Transport::rc;
  EXPECT_EQ(numbers_sent(test_case), NumberPlace::none) << "RC needs none";
}

TEST(Numbers, OfAWriteThatIsVerifiedAreThePlacesItIsIn) {
  TestCase test_case = null_case(Opcode::rdma_write, Pattern::bandwidth, Transport::uc);
  EXPECT_FALSE(leaves_traces(test_case));
  test_case.verify = 1;
  EXPECT_TRUE(leaves_traces(test_case));
  const Area source = layout_of(test_case, Role::initiator).source;
  EXPECT_EQ(source.slots, layout_of(test_case, Role::responder).target.slots);
  EXPECT_GE(source.slots, 1000U + 100U + 128U);
  NullSide runner{test_case};
  EXPECT_EQ(runner.run().why, LoopResult::Why::done);
  EXPECT_LE(runner.tally.total, source.slots) << "none is used twice";
  EXPECT_EQ(runner.work.loop_state().lanes[0].closing->wr.rdma.remote_addr,
            runner.endpoint.view().remote_address +
                remote_area(test_case, Role::initiator).payload(0, runner.tally.total - 1));
  test_case.iterations = 1 << 20;
  EXPECT_FALSE(leaves_traces(test_case)) << "too many";
}

}  // namespace
}  // namespace rdmameter
