// SPDX-License-Identifier: Apache-2.0
// What a case asks of one rank: whom it is connected with, over whom its messages go, what it sends
// and in which rounds. Pure functions of the case and the rank's number.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/case.h"
#include "topologies/routes.h"
#include "topologies/schedule.h"
#include "topologies/traffic.h"

namespace rdmameter {

/// Partners of a drawn stream come again after so many.
inline constexpr std::uint32_t kPartnerDraws = 4096;

/// Of all ranks.
struct TopologyPlan {
  ChosenShape shape;
  ChosenTraffic traffic;
  Graph graph;
  TrafficPlan flows;
  std::uint32_t most_hops = 0;  ///< of any message: so many hop classes there are
  double mean_hops = 0;         ///< over the pairs between which messages go
  bool datagram = false;

  Drive drive() const { return traffic.kind->drive; }
};

/// Why this case cannot be measured, beyond what why_impossible() knows; empty: it can.
/// @throws UsageError  an unknown graph, traffic or schedule
std::string why_no_topology(const Case& one_case);

/// QPs of each edge, and how many of them carry messages.
struct EdgeQps {
  std::uint64_t all, active;
};
EdgeQps edge_qps(const Case& one_case);

/// To be called where why_no_topology() is empty.
TopologyPlan plan_topology(const Case& one_case);

/// What a rank does with a message: over which of its neighbours (by their place in the graph's
/// list) it goes on, and whether it is for the rank itself.
struct PlannedWay {
  std::vector<std::uint32_t> neighbours;
  bool here = false;
};

/// Of one rank.
struct RankPlan {
  std::vector<PlannedWay> ways;     ///< by destination; of Drive::spread by source
  std::vector<std::uint32_t> hops;  ///< to each rank
  std::vector<Round> rounds;        ///< Drive::exchange and spread
  std::vector<Rank> partners;       ///< Drive::stream and drawn: whom its messages go to, in turn
  std::vector<std::uint32_t> reply_to;  ///< Drive::walk: by source, where it goes on from here
  std::uint32_t most_ways = 1;          ///< as many legs a message may leave on
};

RankPlan plan_rank(const TopologyPlan& plan, const Case& one_case, Rank rank);

/// Whoever sends to a rank in a stream, the drawn ones with their first message.
std::vector<Rank> senders_of(const TopologyPlan& plan, const Case& one_case, Rank rank);

/// Messages for a rank of a stream of so many from each sender.
std::uint64_t expected_messages(const TopologyPlan& plan, const Case& one_case, Rank rank,
                                std::uint64_t messages);

}  // namespace rdmameter
