// SPDX-License-Identifier: Apache-2.0
// 0-1-2-...-0. Of two ranks both neighbours are the other one, and the two edges are one.
#include "topologies/graphs/graphs.h"

namespace rdmameter {

Graph make_ring(const ShapeArguments&, Rank ranks) {
  Graph graph{.neighbours = std::vector<std::vector<Rank>>(ranks)};
  for (Rank rank = 0; rank < ranks; ++rank) graph.add(rank, (rank + 1) % ranks);
  return graph;
}

}  // namespace rdmameter
