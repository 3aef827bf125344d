// SPDX-License-Identifier: Apache-2.0
// log2(n) neighbours: those whose numbers differ in one bit.
#include <fmt/format.h>

#include <bit>

#include "topologies/graphs/graphs.h"

namespace rdmameter {

std::string why_no_hypercube(const ShapeArguments&, Rank ranks) {
  if (std::has_single_bit(ranks)) return {};
  return fmt::format(
      "a hypercube has a power of two of ranks, and {} is none: use --ranks {} or {}", ranks,
      std::bit_floor(ranks), std::bit_ceil(ranks));
}

Graph make_hypercube(const ShapeArguments&, Rank ranks) {
  Graph graph{.neighbours = std::vector<std::vector<Rank>>(ranks)};
  for (Rank rank = 0; rank < ranks; ++rank)
    for (Rank bit = 1; bit < ranks; bit *= 2) graph.add(rank, rank ^ bit);
  return graph;
}

}  // namespace rdmameter
