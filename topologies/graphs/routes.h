// SPDX-License-Identifier: Apache-2.0
// Shortest paths: how far each rank is, and over which neighbour to get there.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "topologies/graphs/graph.h"

namespace rdmameter {

inline constexpr std::uint32_t kUnreachable = std::numeric_limits<std::uint32_t>::max();

/// The tree of shortest routes from one rank. Of several shortest routes it has the one whose first
/// differing rank lies nearest ahead of the root ((rank - root) mod n), so that traffic is spread
/// over them, and every rank computes the same tree.
struct Tree {
  std::vector<std::uint32_t> hops;  ///< to each rank; 0 for the root, kUnreachable
  std::vector<Rank> parent;         ///< the rank before it; of the root itself
  std::vector<Rank> first;          ///< the root's neighbour on the route; of the root itself
};

Tree tree_from(const Graph& graph, Rank root);

}  // namespace rdmameter
