// SPDX-License-Identifier: Apache-2.0
// For how many messages a rank's links have room, by hop class. Pure functions of the plan and the
// rank's number; both ends of a link come to the same.
#pragma once

#include <cstdint>
#include <vector>

#include "topologies/graphs/graph.h"

namespace rdmameter {

struct CommonPlan;
struct TestCase;
struct TopologyPlan;

/// Messages by neighbour (its place in the graph's list), and for each of them by hop class.
struct LinkCounts {
  std::vector<std::uint64_t> in, out;  ///< from the neighbour; to it
};

/// How many of the traffic's messages, one for each flow, pass a rank's links in each hop class.
/// @param classes  hop classes: no route has more hops
LinkCounts count_link_messages(const TopologyPlan& plan, const CommonPlan& common, Rank rank,
                               std::uint32_t classes);

/// Room for the first class is what a connection has whatever the traffic: `depth` receives. A
/// later class, which only relayed messages have, has room for twice as many as can be there at
/// once (the next ones come while the buffers of the last ones are on their way back), at most
/// `depth`; none where no message comes.
LinkCounts link_rooms(const TopologyPlan& plan, const CommonPlan& common, const TestCase& test_case,
                      Rank rank);

}  // namespace rdmameter
