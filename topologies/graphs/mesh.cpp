// SPDX-License-Identifier: Apache-2.0
// Every rank with every other. Also the udmesh, whose edges are address handles.
#include "topologies/graphs/graphs.h"

namespace rdmameter {

Graph make_mesh(const ShapeArguments&, Rank ranks) {
  Graph graph{.neighbours = std::vector<std::vector<Rank>>(ranks)};
  for (Rank a = 0; a < ranks; ++a) {
    graph.neighbours[a].reserve(ranks - 1);
    for (Rank b = 0; b < ranks; ++b)
      if (a != b) graph.neighbours[a].push_back(b);
  }
  return graph;
}

}  // namespace rdmameter
