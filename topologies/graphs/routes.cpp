// SPDX-License-Identifier: Apache-2.0
#include "topologies/graphs/routes.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

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

RankPlaces places_on(std::span<const std::string> hosts) {
  RankPlaces places;
  std::map<std::string_view, std::uint32_t> numbers;
  for (const std::string& host : hosts) {
    const auto next = static_cast<std::uint32_t>(numbers.size());
    places.push_back({.host = numbers.emplace(host, next).first->second, .numa_node = {}});
  }
  return places;
}

PairKind kind_of(const RankPlace& a, const RankPlace& b) {
  if (a.host != b.host) return PairKind::other_host;
  if (!a.numa_node || !b.numa_node) return PairKind::same_host;
  return a.numa_node == b.numa_node ? PairKind::same_node : PairKind::other_node;
}

PlacedRoutes::PlacedRoutes(const Graph& graph, RankPlaces places) : places_(std::move(places)) {
  for (Rank rank = 0; rank < graph.ranks(); ++rank) next_.push_back(tree_from(graph, rank).first);
}

RouteKinds PlacedRoutes::route(Rank a, Rank b) const {
  constexpr double kHalf = 0.5;
  RouteKinds route;
  for (const auto& [from, to] : {std::pair(a, b), std::pair(b, a)})
    for (Rank at = from; at != to && next_[at][to] != at; at = next_[at][to]) {
      const PairKind edge = kind(at, next_[at][to]);
      if (at == from) route.first[edge] += kHalf;
      route.hops[edge] += kHalf;
    }
  return route;
}

}  // namespace rdmameter
