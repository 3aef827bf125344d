// SPDX-License-Identifier: Apache-2.0
// Rank 0 with every other; whatever two others say to each other goes through it.
#include "topologies/graphs/graph.h"

namespace rdmameter {

extern constexpr Shape kStar{
    .name = "star",
    .description = "rank 0 in the middle, a QP from it to every other",
    .make =
        [](const ShapeArguments&, Rank ranks) {
          Graph graph(ranks);
          for (Rank rank = 1; rank < ranks; ++rank) graph.add(0, rank);
          return graph;
        },
    .figures = [](const ShapeArguments&, std::uint64_t n) -> std::optional<ShapeFigures> {
      return ShapeFigures{.neighbours = n - 1,
                          .neighbours_mean = 2 * real(n - 1) / real(n),
                          .hops_mean = 2 - 2 / real(n),
                          .hops_max = n > 2 ? 2U : 1U};
    },
    .place =
        [](const ShapeArguments& none, Rank rank, Rank ranks) {
          return rank == 0 ? Place{0, 0} : on_circle(none, rank, ranks - 1);
        },
    .hops = [](const ShapeArguments&, Rank from, Rank to, Rank) -> std::uint32_t {
      return from == 0 || to == 0 ? 1 : 2;
    }};

}  // namespace rdmameter
