// SPDX-License-Identifier: Apache-2.0
// Every rank to every other one. Also what may come of random partners, and whom a message of an
// allgather is for.
#include "topologies/traffic/traffic.h"

namespace rdmameter {

TrafficPlan make_alltoall(const Graph& graph, const std::vector<std::uint64_t>&) {
  TrafficPlan plan;
  for (Rank from = 0; from < graph.ranks(); ++from)
    for (Rank to = 0; to < graph.ranks(); ++to)
      if (from != to) plan.flows.push_back({from, to});
  return plan;
}

}  // namespace rdmameter
