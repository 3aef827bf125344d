// SPDX-License-Identifier: Apache-2.0
#include "topologies/graphs/placed_routes.h"

#include <map>
#include <string_view>
#include <utility>

#include "topologies/graphs/routes.h"

namespace rdmameter {

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

RouteKinds PlacedRoutes::route(Rank from, Rank to) const {
  RouteKinds route;
  add(from, to, route);
  add(to, from, route);
  return route;
}

PairKind PlacedRoutes::kind(Rank a, Rank b) const {
  return kind_of(places_[a], places_[b]);
}

void PlacedRoutes::add(Rank from, Rank to, RouteKinds& route) const {
  constexpr double kHalf = 0.5;
  for (Rank at = from; at != to && next_[at][to] != at; at = next_[at][to]) {
    const PairKind edge = kind(at, next_[at][to]);
    if (at == from) route.first[edge] += kHalf;
    route.hops[edge] += kHalf;
  }
}

}  // namespace rdmameter
