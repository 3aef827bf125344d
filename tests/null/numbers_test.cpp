// SPDX-License-Identifier: Apache-2.0
// The numbers that UC and UD messages carry: what the sender writes, and what the receiver makes of
// any order in which they arrive, held against a look at all of them at once.
#include "core/loop/numbers.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "tests/null/null_case.h"

namespace rdmameter {
namespace {

Case numbered(Opcode opcode, std::uint64_t qps = 1) {
  Case made = null_case(opcode, Pattern::bandwidth,
                        opcode == Opcode::write_imm ? Transport::uc : Transport::ud);
  made.qps = qps;
  return made;
}

/// A receiver that is handed numbers.
struct Receiver {
  explicit Receiver(const Case& one_case) : side(one_case, Role::responder) {}

  void take(std::uint32_t number) {
    ibv_wc wc{};
    wc.imm_data = number;
    NumberReader<NumberedImmediate>{arrivals}.note(wc);
  }

  NullSide side;
  Arrivals& arrivals = side.work.traffic().arrivals;
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

Figures received(const Case& one_case, const std::vector<std::uint32_t>& numbers,
                 std::uint32_t offset = 0) {
  Receiver receiver{one_case};
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
        Case one_case = numbered(opcode, qps);
        one_case.post_list = post_list;
        NullSide side{one_case};
        EXPECT_EQ(side.run().why, LoopEnd::Why::done);
        std::uint64_t sent = 0;
        for (std::uint64_t qp = 0; qp < qps; ++qp) {
          const Lane& lane = side.work.traffic().lanes[qp];
          sent += lane.numbered;
          const std::uint32_t last = lane.number_base | (lane.numbered - 1);
          std::uint32_t in_payload;
          std::memcpy(&in_payload, reinterpret_cast<void*>(lane.closing->sg_list->addr), 4);
          EXPECT_EQ(one_case.immediate() ? lane.closing->imm_data : in_payload, last);
        }
        EXPECT_EQ(sent, side.tally.total);
      }
}

TEST(Numbers, AreReadByTheReceiversLoop) {
  for (const Opcode opcode : {Opcode::send, Opcode::send_imm, Opcode::write_imm}) {
    NullSide side{numbered(opcode), Role::responder};
    side.plan.expected.store(5000);
    side.stop.request(StopReason::finish);
    EXPECT_EQ(side.run().why, LoopEnd::Why::done);
    EXPECT_GE(side.tally.total, 5000U);
    EXPECT_EQ(side.tally.duplicated, 0U);
    EXPECT_EQ(side.tally.reordered, 0U);
    EXPECT_EQ(*side.work.traffic().arrivals.next, side.tally.total);
  }
}

TEST(Numbers, OfCopiesAreNoGoodput) {
  NullSide side{numbered(Opcode::send), Role::responder};
  NullQp& qp = *reinterpret_cast<NullQp*>(side.endpoint.view().qps[0]);
  qp.source = false;  // the 512 that are there, and no more
  for (std::uint32_t i = 0; i < 512; ++i) {
    const std::uint32_t number = i / 2;  // each of them twice
    std::memcpy(
        const_cast<std::uint8_t*>(reinterpret_cast<RecvWork*>(qp.recv_cq->ring[i].wr_id)->number),
        &number, sizeof number);
  }
  side.plan.expected.store(256);
  side.stop.request(StopReason::finish);
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  EXPECT_EQ(side.tally.total, 512U);
  EXPECT_EQ(side.tally.duplicated, 256U);
  EXPECT_EQ(side.tally.operations, 256U - 56U) << "the window opens with the 112th arrival";
}

TEST(Numbers, ArePutOnlyWhereNothingUnderWayIsOverwritten) {
  EXPECT_EQ(numbers_sent(numbered(Opcode::send)), NumberPlace::payload);
  EXPECT_EQ(numbers_sent(numbered(Opcode::write_imm)), NumberPlace::immediate);
  Case one_case = numbered(Opcode::send);
  one_case.size_bytes = 3;
  EXPECT_EQ(numbers_sent(one_case), NumberPlace::none) << "shorter than a number";
  one_case = numbered(Opcode::send);
  one_case.transport = static_cast<std::uint64_t>(Transport::uc);
  one_case.size_bytes = 64 << 10;
  EXPECT_EQ(numbers_sent(one_case), NumberPlace::none) << "slots take turns while under way";
  one_case.depth = 8;
  one_case.signal_every = 4;
  EXPECT_EQ(numbers_sent(one_case), NumberPlace::payload);
  one_case.recv_sge = 40'000;
  EXPECT_EQ(numbers_read(one_case), NumberPlace::none) << "its bytes are scattered";
  one_case.transport = 0;
  EXPECT_EQ(numbers_sent(one_case), NumberPlace::none) << "RC needs none";
}

TEST(Numbers, OfAWriteThatIsVerifiedAreThePlacesItIsIn) {
  Case one_case = null_case(Opcode::rdma_write, Pattern::bandwidth, Transport::uc);
  EXPECT_FALSE(leaves_traces(one_case));
  one_case.verify = 1;
  EXPECT_TRUE(leaves_traces(one_case));
  const Area source = layout_of(one_case, Role::initiator).source;
  EXPECT_EQ(source.slots, layout_of(one_case, Role::responder).target.slots);
  EXPECT_GE(source.slots, 1000U + 100U + 128U);
  NullSide side{one_case};
  EXPECT_EQ(side.run().why, LoopEnd::Why::done);
  EXPECT_LE(side.tally.total, source.slots) << "none is used twice";
  EXPECT_EQ(side.work.traffic().lanes[0].closing->wr.rdma.remote_addr,
            side.endpoint.view().remote_address +
                remote_area(one_case, Role::initiator).payload(0, side.tally.total - 1));
  one_case.iterations = 1 << 20;
  EXPECT_FALSE(leaves_traces(one_case)) << "too many";
}

}  // namespace
}  // namespace rdmameter
