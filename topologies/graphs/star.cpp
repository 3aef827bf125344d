// SPDX-License-Identifier: Apache-2.0
// Rank 0 with every other; whatever two others say to each other goes through it.
#include "topologies/graphs/graphs.h"

namespace rdmameter {

Graph make_star(const ShapeArguments&, Rank ranks) {
  Graph graph{.neighbours = std::vector<std::vector<Rank>>(ranks)};
  for (Rank rank = 1; rank < ranks; ++rank) graph.add(0, rank);
  return graph;
}

}  // namespace rdmameter
