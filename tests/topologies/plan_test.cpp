// SPDX-License-Identifier: Apache-2.0
// Traffics, schedules, and what they make of a rank.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <numeric>

#include "core/base/error.h"
#include "tests/topologies/topology_case.h"
#include "topologies/axes/rank_axes.h"
#include "topologies/ranks/loop/message_buffer.h"
#include "topologies/ranks/rank_plan.h"

namespace rdmameter {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TestCase topology(const std::string& graph, const std::string& traffic, std::uint64_t ranks,
                  const std::string& schedule = "simultaneous") {
  TestCase test_case = topology_case(graph, traffic, ranks);
  test_case.schedule = schedule;
  return test_case;
}

std::string thrown(const TestCase& test_case) {
  try {
    why_no_topology(test_case);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Traffic, PairsBeginAtBothEndsAndComeBackAtOnce) {
  const TestCase test_case = topology("mesh", "pairs", 3);
  const TopologyPlan plan = plan_topology(test_case);
  EXPECT_THAT(plan.receivers(1), ElementsAre(0, 2));
  EXPECT_THAT(plan.senders(1), ElementsAre(0, 2));
  EXPECT_THAT(plan_rank(plan, 1).reply_to, ElementsAre(0, 1, 2));
}

TEST(Traffic, ATokenVisitsEveryRankOnce) {
  EXPECT_THAT(plan_topology(topology("ring", "token", 4)).round_trips,
              ElementsAre(ElementsAre(0, 1, 2, 3, 0)));
}

TEST(Traffic, NeighboursFollowTheEdges) {
  const TopologyPlan ring = plan_topology(topology("ring", "neighbours", 5));
  EXPECT_THAT(ring.receivers(0), ElementsAre(1, 4));
  EXPECT_THAT(ring.senders(4), ElementsAre(0, 3));
  EXPECT_TRUE(ring.sends(0, 4));
  EXPECT_FALSE(ring.sends(0, 2));
}

TEST(Traffic, BisectionCrossesTheMiddleAndLeavesAnOddOneOut) {
  const TopologyPlan plan = plan_topology(topology("mesh", "bisection", 5));
  for (const auto& [rank, other] : std::map<Rank, Rank>{{0, 2}, {1, 3}, {2, 0}, {3, 1}}) {
    EXPECT_THAT(plan.receivers(rank), ElementsAre(other));
    EXPECT_THAT(plan.senders(rank), ElementsAre(other));
    EXPECT_TRUE(plan.sends(rank, other));
  }
  EXPECT_THAT(plan.receivers(4), IsEmpty());
  EXPECT_FALSE(plan.sends(0, 1));
}

TEST(Traffic, DrawnPartnersAreUniformAndNeverOneself) {
  constexpr Rank kRanks = 5;
  std::map<Rank, int> seen;
  for (std::uint64_t n = 0; n < 40'000; ++n) {
    const Rank partner = drawn_partner(3, 2, n, kRanks);
    ASSERT_LT(partner, kRanks);
    ASSERT_NE(partner, 2u);
    ++seen[partner];
  }
  for (const auto& [rank, count] : seen) EXPECT_NEAR(count, 10'000, 500) << rank;
  EXPECT_NE(drawn_partner(3, 2, 0, 1000), drawn_partner(4, 2, 0, 1000));
}

TEST(Traffic, WhatIsExpectedIsWhatIsSent) {
  for (const char* traffic : {"random", "incast:3", "bisection", "flood"}) {
    const TestCase test_case = topology("ring", traffic, 6);
    const TopologyPlan plan = plan_topology(test_case);
    for (const std::uint64_t messages : {1u, 100u, 5000u, 10'000u}) {
      std::uint64_t expected = 0, sent = 0;
      for (Rank rank = 0; rank < 6; ++rank) {
        expected += expected_messages(plan, rank, messages);
        sent += plan_rank(plan, rank).partners.empty() ? 0 : messages;
      }
      EXPECT_EQ(expected, sent) << traffic;
    }
  }
}

TEST(Traffic, AFloodGoesToAllNeighboursAndNotToTheSameOneFirst) {
  const TestCase test_case = topology("mesh", "flood", 4);
  const TopologyPlan plan = plan_topology(test_case);
  const RankPlan second = plan_rank(plan, 1);
  EXPECT_THAT(second.partners, ElementsAre(2, 3, 0));
  EXPECT_EQ(second.window, 3 * test_case.queues.depth);
  EXPECT_THAT(senders_of(plan, 1), ElementsAre(0));
  EXPECT_EQ(expected_messages(plan, 1, 4), 4u);  // 2 of rank 0, then 1 of each
  const TestCase ring = topology("ring", "flood", 6);
  EXPECT_THAT(plan_rank(plan_topology(ring), 5).partners, ElementsAre(0, 4));
}

TEST(Traffic, WhatThereIsNotIsRefused) {
  EXPECT_THAT(thrown(topology("mesh", "alltoal", 4)), HasSubstr("incast:K"));
  EXPECT_THAT(thrown(topology("mesh", "incast", 4)), HasSubstr("incast:K"));
  EXPECT_THAT(thrown(topology("mesh", "alltoall", 4, "randomly")), HasSubstr("staggered"));
  EXPECT_THAT(why_no_topology(topology("mesh", "incast:4", 4)), HasSubstr("from 1 to 3"));
  EXPECT_THAT(why_no_topology(topology("mesh", "incast:0", 4)), HasSubstr("from 1 to 3"));
}

TEST(Traffic, AGraphInPartsCarriesOnlyItsEdges) {
  EXPECT_THAT(why_no_topology(topology("random:1", "alltoall", 4)), HasSubstr("not connected"));
  EXPECT_THAT(why_no_topology(topology("random:1", "pairs", 4)), HasSubstr("not connected"));
  EXPECT_THAT(why_no_topology(topology("random:1", "neighbours", 4)), IsEmpty());
}

TEST(Traffic, AWayLongerThanALabelHoldsIsRefused) {
  EXPECT_THAT(why_no_topology(topology("ring", "bisection", 600)), HasSubstr("hops"));
  EXPECT_THAT(why_no_topology(topology("ring", "neighbours", 600)), IsEmpty());
}

/// Both ends of each flow have it in the same round, so no rank waits for what is not sent.
void expect_matching(const TestCase& test_case) {
  const TopologyPlan plan = plan_topology(test_case);
  std::map<std::pair<Rank, Rank>, int> sent, awaited;
  for (Rank rank = 0; rank < test_case.ranks; ++rank)
    for (const Round& round : plan_rank(plan, rank).rounds) {
      for (const Rank to : round.to) ++sent[{rank, to}];
      for (const Rank from : round.from) ++awaited[{from, rank}];
    }
  EXPECT_EQ(sent, awaited);
  std::size_t flows = 0;
  for (Rank rank = 0; rank < test_case.ranks; ++rank) flows += plan.receivers(rank).size();
  EXPECT_EQ(sent.size(), flows);
  for (const auto& [flow, times] : sent) EXPECT_EQ(times, 1);
}

TEST(Schedule, EveryFlowIsSentOnceAndAwaitedOnce) {
  for (const char* schedule : {"simultaneous", "rounds", "staggered"})
    for (const char* traffic : {"alltoall", "neighbours"})
      for (const std::uint64_t ranks : {2u, 4u, 5u, 8u})
        expect_matching(topology("ring", traffic, ranks, schedule));
}

TEST(Schedule, RoundsHaveOnePartnerEach) {
  for (const std::uint64_t ranks : {4u, 7u}) {
    const TestCase test_case = topology("mesh", "alltoall", ranks, "rounds");
    const TopologyPlan plan = plan_topology(test_case);
    for (Rank rank = 0; rank < ranks; ++rank) {
      const RankPlan mine = plan_rank(plan, rank);
      EXPECT_EQ(mine.rounds.size(), ranks - 1);
      for (const Round& round : mine.rounds) {
        EXPECT_EQ(round.to.size(), 1u);
        EXPECT_EQ(round.from.size(), 1u);
      }
    }
  }
}

TEST(Schedule, StaggeredBeginsWithTheNextRank) {
  const TestCase test_case = topology("mesh", "alltoall", 4, "staggered");
  const RankPlan mine = plan_rank(plan_topology(test_case), 2);
  ASSERT_EQ(mine.rounds.size(), 1u);
  EXPECT_THAT(mine.rounds[0].to, ElementsAre(3, 0, 1));
}

TEST(Spread, ReachesEveryRankOnceFromEverySource) {
  for (const char* graph : {"mesh", "ring", "star", "hypercube", "torus2d:2x4"}) {
    const TestCase test_case = topology(graph, "allgather", 8);
    const TopologyPlan plan = plan_topology(test_case);
    std::vector<RankPlan> ranks;
    for (Rank rank = 0; rank < 8; ++rank) ranks.push_back(plan_rank(plan, rank));
    for (Rank source = 0; source < 8; ++source) {
      std::vector<int> reached(8);
      std::vector<Rank> queue{source};
      for (std::size_t at = 0; at < queue.size(); ++at)
        for (const std::uint32_t place : ranks[queue[at]].routes[source].neighbours) {
          const Rank next = plan.graph.neighbours[queue[at]][place];
          ++reached[next];
          queue.push_back(next);
        }
      EXPECT_EQ(reached[source], 0);
      EXPECT_EQ(std::accumulate(reached.begin(), reached.end(), 0), 7) << graph;
    }
  }
}

TEST(Inflate, SharesTheQPsOfALargeMeshOutOverTheRanksThatAreThere) {
  TestCase test_case = topology("mesh", "pairs", 2);
  EXPECT_EQ(edge_qps(test_case).all, 1u);
  test_case.qps_per_edge = 3;
  EXPECT_EQ(edge_qps(test_case).all, 3u);
  EXPECT_EQ(edge_qps(test_case).active, 3u);
  test_case.inflate = 1024;
  test_case.active = kDeviceMax;
  EXPECT_EQ(edge_qps(test_case).all, 1023u);
  EXPECT_EQ(edge_qps(test_case).active, 1023u);
  test_case.ranks = 4;
  test_case.active = 7;
  EXPECT_EQ(edge_qps(test_case).all, 341u);
  EXPECT_EQ(edge_qps(test_case).active, 3u);
  EXPECT_THAT(why_no_topology(test_case), IsEmpty());
}

TEST(Inflate, IsNoSmallerThanWhatThereIs) {
  TestCase test_case = topology("mesh", "pairs", 4);
  test_case.inflate = 3;
  EXPECT_THAT(why_no_topology(test_case), HasSubstr("4 ranks already"));
  test_case.inflate = 8;
  test_case.active = 8;
  EXPECT_THAT(why_no_topology(test_case), HasSubstr("has 7 QPs"));
}

TEST(Label, HoldsClassSourceAndDestination) {
  const std::uint32_t result = label(4095, 17) + 200 * kNextClass;
  EXPECT_EQ(source_of(result), 4095u);
  EXPECT_EQ(result & kRankMask, 17u);
  EXPECT_EQ(class_of(result), 200u);
}

}  // namespace
}  // namespace rdmameter
