// SPDX-License-Identifier: Apache-2.0
#include "topologies/graphs/routes.h"

#include <algorithm>

namespace rdmameter {
namespace {

/// The neighbours of a rank in the order in which they lie ahead of the root.
std::vector<Rank> from_root_on(const std::vector<Rank>& ascending, Rank root) {
  std::vector<Rank> turned = ascending;
  std::rotate(turned.begin(), std::ranges::lower_bound(turned, root), turned.end());
  return turned;
}

}  // namespace

Tree tree_from(const Graph& graph, Rank root) {
  const Rank ranks = graph.ranks();
  Tree tree{.hops = std::vector<std::uint32_t>(ranks, kUnreachable),
            .parent = std::vector<Rank>(ranks, root),
            .first = std::vector<Rank>(ranks, root)};
  tree.hops[root] = 0;
  std::vector<Rank> queue{root};
  queue.reserve(ranks);
  // Once all are found the rest of the search finds nothing: of a mesh one rank is looked at.
  for (std::size_t at = 0; at < queue.size() && queue.size() < ranks; ++at) {
    const Rank rank = queue[at];
    for (const Rank next : from_root_on(graph.neighbours[rank], root)) {
      if (tree.hops[next] != kUnreachable) continue;
      tree.hops[next] = tree.hops[rank] + 1;
      tree.parent[next] = rank;
      tree.first[next] = rank == root ? next : tree.first[rank];
      queue.push_back(next);
    }
  }
  return tree;
}

}  // namespace rdmameter
