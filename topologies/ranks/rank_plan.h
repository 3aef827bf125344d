// SPDX-License-Identifier: Apache-2.0
// What a case asks of one rank: its neighbours, its messages' routes, what it sends and in which
// rounds. Pure functions of the case and the rank's number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/test_case/test_case.h"
#include "topologies/axes/rank_axes.h"
#include "topologies/graphs/graph.h"
#include "topologies/graphs/routes.h"
#include "topologies/schedule/schedule.h"
#include "topologies/traffic/hop_count.h"
#include "topologies/traffic/traffic.h"

namespace rdmameter {

/// Each rank keeps the time of every collective until all are merged.
inline constexpr std::uint64_t kMaxCollectives = 1U << 16;

/// Partners of a drawn stream come again after so many.
inline constexpr std::uint32_t kPartnerDraws = 4096;

/// The plan of all ranks: the case, and what follows from it for each.
struct TopologyPlan {
  TestCase test_case;
  ChosenShape shape;
  ChosenTraffic traffic;
  Graph graph;
  std::vector<std::vector<Rank>> round_trips;  ///< as TrafficPlan has them
  HopCount hops = {};                          ///< of all ranks
  std::uint64_t message_bytes = 0;             ///< of the largest message
  // Of TrafficMode::collective.
  std::uint64_t words = 0;  ///< see CollectiveKind
  CollectiveTotals collective = {};
  std::uint64_t relayed_hops = 0;  ///< of its messages, beyond the first of each

  TrafficMode traffic_mode() const { return traffic.entry->traffic_mode; }
  /// Of pairs of ranks.
  bool in_rounds() const { return rdmameter::in_rounds(traffic.entry->reach); }
  bool datagram() const { return shape.shape->datagrams; }

  // Ranks that messages of that one go to, or come from; ascending.
  std::vector<Rank> receivers(Rank from) const {
    return listed(among(flows_to), from, graph.ranks());
  }
  std::vector<Rank> senders(Rank to) const { return listed(among(flows_from), to, graph.ranks()); }
  bool sends(Rank from, Rank to) const;

  RankLists flows_to = {}, flows_from = {};  ///< of FlowSet::made; of others empty
  const RankLists& among(const RankLists& made) const {
    return traffic.entry->flow_set == FlowSet::edges ? graph.neighbours : made;
  }
};

/// Why this case cannot be measured, beyond what why_impossible() knows; empty: it can.
/// @throws UsageError  an unknown graph, traffic or schedule
std::string why_no_topology(const TestCase& test_case);

/// QPs of each edge, and how many of them carry messages.
struct EdgeQps {
  std::uint64_t all, active;
};
EdgeQps edge_qps(const TestCase& test_case);

/// To be called where why_no_topology() is empty.
TopologyPlan plan_topology(const TestCase& test_case);

/// The rounds of a traffic in rounds; others have none.
std::vector<PairRound> rounds_of_pairs(const TopologyPlan& plan);

/// The route of a message at a rank: over which of its neighbours (by their place in the graph's
/// list) it goes on, and whether it is for the rank itself.
struct PlannedRoute {
  std::vector<std::uint32_t> neighbours;
  bool here = false;
};

/// The number of hop classes: class h is of messages that have been relayed h times.
inline std::uint32_t hop_classes(const TopologyPlan& plan) {
  return std::max<std::uint32_t>(plan.hops.max, 1);
}

/// Messages by neighbour (its place in the graph's list), and for each of them by hop class. Both
/// ends of a link come to the same.
struct LinkCounts {
  std::vector<std::uint64_t> in, out;  ///< from the neighbour; to it
};

/// By rank, how many of the traffic's messages, one for each flow, pass its links in each hop class:
/// what RankPlan::rooms comes from.
std::vector<LinkCounts> count_link_messages(const TopologyPlan& plan);

/// The plan of one rank.
struct RankPlan {
  const TopologyPlan& all;  ///< borrowed
  Rank rank = 0;
  std::vector<PlannedRoute> routes;  ///< by destination; of TrafficMode::spread by source
  std::vector<std::uint32_t> hops;   ///< to each rank
  std::vector<Round> rounds;         ///< TrafficMode::exchange and spread
  /// TrafficMode::stream and drawn, but not in rounds: the receivers of its messages, in turn.
  std::vector<Rank> partners;
  std::uint64_t window = 1;             ///< messages that it has under way at once, at most
  std::vector<PairTurn> pair_turns;     ///< of a traffic in rounds, by round
  std::vector<std::uint32_t> reply_to;  ///< TrafficMode::round_trip: by source, the next stop
  /// Messages that there is room for. Room for the first class is what a connection has whatever
  /// the traffic: `depth` receives. A later class, which only relayed messages have, has room for
  /// twice as many as can be there at once (the next ones come while the buffers of the last ones
  /// are on their way back), at most `depth`; none where no message comes.
  LinkCounts rooms;
  std::uint32_t max_copies = 1;  ///< of a message, each over another edge
  RankSchedule schedule = {};    ///< TrafficMode::collective
};

RankPlan plan_rank(const TopologyPlan& plan, Rank rank);

/// Calls `visit` with the plan of each rank. The routes between all ranks, of size O(n^2) where
/// messages are relayed, are computed once for all of them.
void plan_ranks(const TopologyPlan& plan, const std::function<void(RankPlan)>& visit);

/// The ranks whose first message of a stream is for this rank.
std::vector<Rank> senders_of(const TopologyPlan& plan, Rank rank);

/// Messages for a rank of a stream of so many from each sender. @pre it is a stream, or drawn
std::uint64_t expected_messages(const TopologyPlan& plan, Rank rank, std::uint64_t messages);

}  // namespace rdmameter
