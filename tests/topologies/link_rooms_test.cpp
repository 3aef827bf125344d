// SPDX-License-Identifier: Apache-2.0
// Room on links, against routes that are walked.
#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "topologies/axes/rank_axes.h"
#include "topologies/ranks/rank_plan.h"

namespace rdmameter {
namespace {

struct Shaped {
  const char* graph;
  Rank ranks;
};
constexpr Shaped kGraphs[] = {{"mesh", 5},     {"ring", 2},         {"ring", 7},
                              {"ring", 8},     {"star", 6},         {"hypercube", 8},
                              {"kring:2", 11}, {"torus2d:3x4", 12}, {"random:3", 10}};

TestCase case_of(const Shaped& shaped, const std::string& traffic) {
  TestCase test_case = default_topology_case();
  test_case.graph = shaped.graph;
  test_case.ranks = shaped.ranks;
  test_case.traffic = traffic;
  return test_case;
}

/// Messages by the rank they leave, the rank they come to, and their hop class.
using Walked = std::map<std::tuple<Rank, Rank, std::uint32_t>, std::uint64_t>;

/// As the relays pass them on.
Walked walk_all(const TopologyPlan& plan, const TestCase& test_case) {
  std::vector<RankPlan> of_rank;
  for (Rank rank = 0; rank < test_case.ranks; ++rank) of_rank.push_back(plan_rank(plan, rank));
  Walked walked;
  const bool spread = plan.traffic_mode() == TrafficMode::spread;
  const auto walk = [&](auto& again, Rank at, Rank label, std::uint32_t hop_class) -> void {
    const PlannedRoute& route = of_rank[at].routes[label];
    if (!spread && route.here) return;
    for (const std::uint32_t place : route.neighbours) {
      const Rank next = plan.graph.neighbours[at][place];
      ++walked[{at, next, hop_class}];
      again(again, next, label, hop_class + 1);
    }
  };
  if (spread)
    for (Rank source = 0; source < test_case.ranks; ++source) walk(walk, source, source, 0);
  else
    for (Rank from = 0; from < test_case.ranks; ++from)
      for (const Rank to : plan.receivers(from)) walk(walk, from, to, 0);
  return walked;
}

TEST(LinkRooms, CountEveryMessageWhereItsRouteLeads) {
  for (const Shaped& shaped : kGraphs)
    for (const char* traffic : {"alltoall", "allgather", "neighbours", "incast:1", "bisection"}) {
      SCOPED_TRACE(std::string(shaped.graph) + " " + traffic);
      const TestCase test_case = case_of(shaped, traffic);
      const TopologyPlan plan = plan_topology(test_case);
      const std::uint32_t classes = hop_classes(plan);
      const std::vector<LinkCounts> counted = count_link_messages(plan);
      Walked walked = walk_all(plan, test_case);
      for (Rank rank = 0; rank < shaped.ranks; ++rank) {
        const LinkCounts& counts = counted[rank];
        for (std::size_t i = 0; i < counts.in.size(); ++i) {
          const Rank neighbour = plan.graph.neighbours[rank][i / classes];
          const auto hop_class = static_cast<std::uint32_t>(i % classes);
          EXPECT_EQ(counts.in[i], (walked[{neighbour, rank, hop_class}]));
          EXPECT_EQ(counts.out[i], (walked[{rank, neighbour, hop_class}]));
        }
      }
    }
}

LinkCounts rooms_of(const TestCase& test_case, Rank rank) {
  return plan_rank(plan_topology(test_case), rank).rooms;
}

/// Of a rank's first link.
std::uint64_t room_of_class(const TestCase& test_case, std::uint32_t hop_class) {
  return rooms_of(test_case, 0).in[hop_class];
}

TEST(LinkRooms, AConnectionHasTheDepthWhateverTheTraffic) {
  for (const Shaped& shaped : kGraphs)
    for (const char* traffic : {"pairs", "alltoall", "neighbours", "incast:1"})
      EXPECT_EQ(room_of_class(case_of(shaped, traffic), 0), 16u) << shaped.graph << " " << traffic;
}

TEST(LinkRooms, RelayedMessagesHaveNoMoreThanCanBeThereTwice) {
  TestCase ring = case_of({"ring", 64}, "pairs");
  EXPECT_EQ(room_of_class(ring, 1), 2u);
  EXPECT_EQ(room_of_class(ring, 30), 2u);
  ring.traffic = "alltoall";
  EXPECT_EQ(room_of_class(ring, 1), 16u);  // 31 messages, and --depth 16
  EXPECT_EQ(room_of_class(ring, 29), 4u);  // from rank 30, to ranks 0 and 63
  ring.traffic = "neighbours";
  EXPECT_EQ(rooms_of(ring, 0).in.size(), 2u);  // nobody relays
  TestCase star = case_of({"star", 6}, "incast:3");
  EXPECT_EQ(rooms_of(star, 3).in.size(), 1u);  // rank 0 is the centre
}

TEST(LinkRooms, StreamsAndLateMessagesMayBeAnyNumber) {
  EXPECT_EQ(room_of_class(case_of({"ring", 8}, "random"), 1), 16u);
  TestCase lossy = case_of({"ring", 8}, "pairs");
  lossy.transport = Transport::uc;
  EXPECT_EQ(room_of_class(lossy, 1), 16u);
}

}  // namespace
}  // namespace rdmameter
