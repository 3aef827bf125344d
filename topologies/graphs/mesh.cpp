// SPDX-License-Identifier: Apache-2.0
// Every rank with every other. Also the udmesh, whose edges are address handles.
#include "topologies/graphs/graph.h"

namespace rdmameter {

extern constexpr Shape kMesh{
    .name = "mesh",
    .description = "a QP from every rank to every other",
    .make =
        [](const ShapeArguments&, Rank ranks) {
          Graph graph(ranks);
          for (Rank a = 0; a < ranks; ++a) {
            graph.neighbours[a].reserve(ranks - 1);
            for (Rank b = 0; b < ranks; ++b)
              if (a != b) graph.neighbours[a].push_back(b);
          }
          return graph;
        },
    .figures = [](const ShapeArguments&, std::uint64_t n) -> std::optional<ShapeFigures> {
      return regular_figures(n - 1, 1, 1);
    },
    .hops = [](const ShapeArguments&, Rank, Rank, Rank) -> std::uint32_t { return 1; },
    .inflatable = true};

extern constexpr Shape kUdmesh{
    .name = "udmesh",
    .description = "one UD QP at every rank, and an address handle for every other",
    .make = kMesh.make,
    .figures =
        [](const ShapeArguments& none, std::uint64_t n) {
          auto figures = kMesh.figures(none, n);
          figures->one_qp = true;
          return figures;
        },
    .hops = kMesh.hops,
    .datagrams = true};

}  // namespace rdmameter
