// SPDX-License-Identifier: Apache-2.0
// The measured path of all ranks of a graph, run in one thread.
#include <gtest/gtest.h>

#include <chrono>

#include "core/instrument/clock.h"
#include "tests/topologies/fabric.h"
#include "tests/topologies/topology_case.h"

namespace rdmameter {
namespace {

TestCase topology(const std::string& graph, const std::string& traffic, std::uint64_t ranks,
                  std::uint64_t depth) {
  TestCase test_case = topology_case(graph, traffic, ranks);
  test_case.queues.depth = depth;
  test_case.size_bytes = 24;
  test_case.verify = 1;
  return test_case;
}

constexpr std::uint64_t kForEver = 100'000;

/// Everything that was sent has arrived whole, no receive was missing, and every buffer has come
/// back to where it belongs.
void expect_all_well(Fabric& fabric, std::uint64_t arrived, std::uint64_t expected) {
  EXPECT_EQ(arrived, expected);
  EXPECT_TRUE(fabric.quiet()) << "messages wait for room that never comes";
  EXPECT_EQ(fabric.rnr_naks(), 0u);
  EXPECT_FALSE(fabric.overrun());
  for (const auto& rank : fabric.ranks()) {
    EXPECT_EQ(rank->state().wrong_bytes, 0u);
    EXPECT_EQ(rank->state().leaving, 0u);
    EXPECT_EQ(rank->state().end.why, LoopResult::Why::done);
    for (std::size_t i = 0; i < rank->links().size(); ++i) {
      const Link& link = rank->links()[i];
      const NullQp& qp = rank->qps()[i].base;
      std::uint64_t buffers = qp.receives_in - qp.receives_out, room = 0;
      for (std::uint32_t k = 0; k < fabric.classes(); ++k) {
        EXPECT_EQ(link.credit_windows[k].sent, link.credit_windows[k].retired);
        buffers += link.credit_batches[k].emptied;
        room += rank->plan().rooms.in[i * fabric.classes() + k];
      }
      EXPECT_EQ(buffers, room);
    }
  }
}

TEST(Relay, EveryRankSendingAtOnceWithOneBufferPerClassEnds) {
  for (const auto& [graph, ranks] :
       std::vector<std::pair<std::string, std::uint64_t>>{{"ring", 2},
                                                          {"ring", 8},
                                                          {"ring", 9},
                                                          {"star", 6},
                                                          {"hypercube", 8},
                                                          {"torus2d:3x4", 12},
                                                          {"random:3", 10},
                                                          {"kring:2", 9},
                                                          {"mesh", 5}}) {
    constexpr std::uint64_t kEach = 20;
    Fabric fabric(topology(graph, "alltoall", ranks, 1));
    for (std::uint64_t n = 0; n < kEach; ++n)
      for (std::uint32_t from = 0; from < ranks; ++from)
        for (std::uint32_t to = 0; to < ranks; ++to)
          if (from != to) fabric.send_from(from, to);
    SCOPED_TRACE(graph);
    expect_all_well(fabric, fabric.run(kForEver), kEach * ranks * (ranks - 1));
  }
}

TEST(Relay, ASpreadReachesEveryRankFromEveryRankWithOneBufferPerClass) {
  for (const auto& [graph, ranks] : std::vector<std::pair<std::string, std::uint64_t>>{
           {"ring", 7}, {"star", 6}, {"hypercube", 8}, {"torus2d:3x3", 9}, {"mesh", 5}}) {
    constexpr std::uint64_t kEach = 20;
    Fabric fabric(topology(graph, "allgather", ranks, 1));
    for (std::uint64_t n = 0; n < kEach; ++n)
      for (std::uint32_t from = 0; from < ranks; ++from) fabric.send_from(from, 0);
    SCOPED_TRACE(graph);
    expect_all_well(fabric, fabric.run(kForEver), kEach * ranks * (ranks - 1));
  }
}

TEST(Relay, AWrongByteIsTracedToTheRankWhereItsMessageBegan) {
  Fabric fabric(topology("ring", "alltoall", 6, 4));
  fabric.rank(2).source()[5] ^= 1;
  for (const std::uint32_t from : {1U, 2U, 5U}) fabric.send_from(from, 4);
  EXPECT_EQ(fabric.run(kForEver), 3u);
  EXPECT_EQ(fabric.rank(4).state().wrong_bytes, 1u);
  EXPECT_EQ(fabric.rank(4).state().wrong_from, 2u);
}

TEST(Relay, ARoundTripEndsBeforeItsBufferIsGivenBack) {
  Fabric fabric(topology("mesh", "pairs", 2, 1));
  FakeRank& mine = fabric.rank(0);
  mine.state().deliver = come_back<false, false>;
  mine.state().back = false;
  fabric.send_from(1, 0);
  step<ReceiveMode::own>(mine.state());
  ASSERT_TRUE(mine.state().back);
  EXPECT_EQ(mine.state().credits, 0u);
  empty<ReceiveMode::own>(mine.state(), *mine.state().held);
  EXPECT_EQ(mine.state().credits, 1u);
  step<ReceiveMode::own>(fabric.rank(1).state());
  fabric.send_from(1, 0);  // nobody waits for it, as for one that is late
  step<ReceiveMode::own>(mine.state());
  EXPECT_EQ(mine.state().credits, 2u);
}

TEST(Relay, DeeperQueuesWithholdLessThanTheyHave) {
  for (const std::uint64_t depth : {2u, 3u, 16u}) {
    constexpr std::uint64_t kEach = 50;
    Fabric fabric(topology("ring", "alltoall", 6, depth));
    for (std::uint64_t n = 0; n < kEach; ++n)
      for (std::uint32_t from = 0; from < 6; ++from)
        for (std::uint32_t to = 0; to < 6; ++to)
          if (from != to) fabric.send_from(from, to);
    expect_all_well(fabric, fabric.run(kForEver), kEach * 30);
  }
}

TEST(Relay, WithoutClassesARingBlocksItself) {
  // The counter-example that the classes are for: all messages in one class, two hops to go.
  Fabric fabric(topology("ring", "alltoall", 5, 1));
  for (const auto& rank : fabric.ranks())
    for (Link& link : rank->links())
      for (std::uint32_t i = 1; i < fabric.classes(); ++i)
        link.credit_windows[i].sent = link.credit_windows[i].limit =
            link.credit_windows[i].room;  // none beyond the first class
  for (int n = 0; n < 20; ++n)
    for (std::uint32_t from = 0; from < 5; ++from) fabric.send_from(from, (from + 2) % 5);
  fabric.run(1000);
  EXPECT_FALSE(fabric.quiet());
}

TEST(Relay, OnUCALostMessageHoldsTheOthersUpForAWhileOnly) {
  Fabric fabric(topology("ring", "alltoall", 4, 1));
  FakeRank& sender = fabric.rank(0);
  sender.qps()[0].lose = 1;  // towards rank 1
  for (int n = 0; n < 3; ++n) fabric.send_from(0, 1);
  EXPECT_EQ(fabric.run(1000), 0u);  // its buffer at rank 1 will never be credited again
  EXPECT_FALSE(fabric.quiet());
  sender.state().reclaim_after_ns = 1'000'000;
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!fabric.quiet() && std::chrono::steady_clock::now() < give_up) fabric.run(1);
  EXPECT_EQ(fabric.rank(1).state().arrived, 2u);
  EXPECT_EQ(fabric.rnr_naks(), 0u);
}

TEST(Relay, WhatArrivesTogetherLeavesInListsOfOneCompletionEach) {
  // At most half of depth leaves at once; of depth 2 no more than two messages are under way.
  for (const auto& [depth, lists] : {std::pair(16u, 1u), std::pair(8u, 2u), std::pair(2u, 2u)}) {
    Fabric fabric(topology("star", "random", 3, depth));
    FakeRank& relay = fabric.rank(0);
    for (int n = 0; n < 8; ++n) fabric.send_from(1, 2);
    EXPECT_EQ(step<ReceiveMode::own>(relay.state()), static_cast<int>(std::min(depth, 8u)));
    const NullQp& towards = relay.qps()[1].base;
    EXPECT_EQ(towards.posts, lists);
    EXPECT_EQ(relay.cq().in - relay.cq().out, towards.posts);
    expect_all_well(fabric, fabric.run(kForEver), 8);
  }
}

struct CountedWait {
  static inline int waits = 0;
  template <class Cq>
  void operator()(const Cq*) const noexcept {
    ++waits;
  }
};

TEST(Relay, OfSeveralCqsAllAreFoundEmptyBeforeItWaits) {
  using CountedPolicy = RankPolicy<KernelClock, CountedWait, ReceiveMode::own>;
  Fabric fabric(topology("mesh", "alltoall", 4, 2));
  FakeRank& mine = fabric.rank(0);
  std::vector<NullCq> cqs(mine.qps().size());
  std::vector<ibv_cq*> pointers;
  for (std::size_t i = 0; i < cqs.size(); ++i) {
    null_verbs::prepare(cqs[i], *mine.cq().cq.context);
    mine.qps()[i].base.send_cq = mine.qps()[i].base.recv_cq = &cqs[i];
    pointers.push_back(cqs[i].plain());
  }
  mine.state().cqs = pointers.data();
  mine.state().cq_count = static_cast<std::uint32_t>(pointers.size());
  StopFlag stop;
  const auto look_times = [&](int times) {
    const int before = CountedWait::waits;
    for (int i = 0; i < times; ++i) EXPECT_TRUE(look<CountedPolicy>(mine.state(), stop));
    return CountedWait::waits - before;
  };
  EXPECT_EQ(look_times(2), 0);
  EXPECT_EQ(look_times(1), 1);
  EXPECT_EQ(look_times(6), 2);
  for (const std::uint32_t from : {1U, 2U, 3U}) {
    while (look_times(1) == 0) {
    }  // all were empty
    fabric.send_from(from, 0);
    EXPECT_EQ(look_times(3), 0);  // one of them had it
    EXPECT_EQ(mine.state().arrived, from);
  }
  for (int n = 0; n < 20; ++n)
    for (std::uint32_t from = 0; from < 4; ++from)
      for (std::uint32_t to = 0; to < 4; ++to)
        if (from != to) fabric.send_from(from, to);
  for (int n = 0; n < 1000; ++n)
    for (const auto& rank : fabric.ranks()) step<ReceiveMode::own>(rank->state());
  EXPECT_EQ(fabric.run(0), 3u + 20 * 12);
  for (const auto& rank : fabric.ranks()) EXPECT_EQ(rank->state().leaving, 0u);
}

TEST(Relay, EachHopIsOneClassFurther) {
  Fabric fabric(topology("ring", "alltoall", 6, 4));
  fabric.send_from(0, 3);
  EXPECT_EQ(fabric.run(kForEver), 1u);
  EXPECT_EQ(fabric.rank(3).state().received[0], 1u);
  EXPECT_EQ(fabric.rank(1).passed_on(), 1u);
  EXPECT_EQ(fabric.rank(2).passed_on(), 1u);
  EXPECT_EQ(fabric.rank(1).state().arrived, 0u);
}

TEST(Relay, AWrongByteIsFound) {
  Fabric fabric(topology("ring", "alltoall", 4, 4));
  fabric.rank(0).source()[5] ^= 1;
  fabric.send_from(0, 2);
  fabric.run(kForEver);
  EXPECT_EQ(fabric.rank(2).state().wrong_bytes, 1u);
  EXPECT_EQ(fabric.rank(2).state().checked_bytes, 24u);
}

TEST(Relay, MessagesOfAFlowArriveInTheirOrder) {
  Fabric fabric(topology("ring", "alltoall", 5, 1));
  std::vector<std::uint8_t> seen;
  static std::vector<std::uint8_t>* into;
  into = &seen;
  fabric.rank(2).state().deliver = [](RankState&, MessageBuffer& buffer, std::uint32_t) noexcept {
    into->push_back(buffer.data[0]);
    return false;
  };
  // The source buffer is read when a message leaves, so each leaves before the next is written.
  for (std::uint8_t n = 0; n < 30; ++n) {
    fabric.rank(0).source()[0] = n;
    fabric.send_from(0, 2);
    for (int i = 0; i < 3; ++i) step<ReceiveMode::own>(fabric.rank(0).state());
    while (fabric.rank(0).state().blocked_count != 0) fabric.run(1);
  }
  fabric.run(kForEver);
  ASSERT_EQ(seen.size(), 30u);
  for (std::uint8_t n = 0; n < 30; ++n) EXPECT_EQ(seen[n], n);
}

}  // namespace
}  // namespace rdmameter
