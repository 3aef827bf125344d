// SPDX-License-Identifier: Apache-2.0
// One message that visits every rank in their order and comes back to rank 0.
#include "topologies/traffic/traffic.h"

namespace rdmameter {

TrafficPlan make_token(const Graph& graph, const std::vector<std::uint64_t>&) {
  std::vector<Rank> stops;
  for (Rank rank = 0; rank < graph.ranks(); ++rank) stops.push_back(rank);
  stops.push_back(0);
  return {.walks = {stops}, .flows = {}};
}

}  // namespace rdmameter
