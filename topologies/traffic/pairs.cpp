// SPDX-License-Identifier: Apache-2.0
// Every rank with every other, there and back, and each of the two begins once.
#include "topologies/traffic/traffic.h"

namespace rdmameter {

TrafficPlan make_pairs(const Graph& graph, const std::vector<std::uint64_t>&) {
  TrafficPlan plan;
  for (Rank from = 0; from < graph.ranks(); ++from)
    for (Rank to = 0; to < graph.ranks(); ++to)
      if (from != to) plan.walks.push_back({from, to, from});
  return plan;
}

}  // namespace rdmameter
