// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/pair_kinds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <unordered_set>
#include <utility>

#include "core/base/error.h"
#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

/// Spread over all ranks and, as the golden ratio is far from any fraction, over the places within
/// hosts too.
std::vector<Rank> sources_among(Rank ranks, std::uint64_t count) {
  std::vector<Rank> sources;
  constexpr double kGoldenRatio = 0.6180339887498949, kMiddle = 0.5;
  if (count < ranks) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const double turns = (real(i) + kMiddle) * kGoldenRatio;
      sources.push_back(static_cast<Rank>((turns - std::floor(turns)) * real(ranks)));
    }
  } else {
    for (Rank rank = 0; rank < ranks; ++rank) sources.push_back(rank);
  }
  return sources;
}

/// The routes from one rank to all others; the last edge of a route is the first one back.
std::vector<RouteKinds> routes_from(const Tree& tree, const RankPlaces& places, Rank root) {
  constexpr double kHalf = 0.5;
  std::vector<std::vector<Rank>> by_hops;
  for (Rank rank = 0; rank < places.size(); ++rank) {
    const std::size_t hops = tree.hops[rank];
    if (rank == root || hops == kUnreachable) continue;
    if (by_hops.size() <= hops) by_hops.resize(hops + 1);
    by_hops[hops].push_back(rank);
  }
  std::vector<RouteKinds> routes(places.size());
  for (const std::vector<Rank>& ranks : by_hops)
    for (const Rank rank : ranks) {
      const Rank before = tree.parent[rank];
      const PairKind last = kind_of(places[before], places[rank]);
      RouteKinds& route = routes[rank];
      route.hops = routes[before].hops;
      ++route.hops[last];
      route.first[kind_of(places[root], places[tree.first[rank]])] += kHalf;
      route.first[last] += kHalf;
    }
  return routes;
}

/// Nothing: there is no such shape, not of so many ranks, or it could not be drawn.
std::optional<Graph> graph_of(const std::string& text, std::uint64_t ranks, std::uint64_t seed) {
  const auto shape = find_shape(text, seed);
  if (!shape || ranks > kMaxPredictedRanks || !shape->why_not(static_cast<Rank>(ranks)).empty())
    return std::nullopt;
  try {
    return shape->make(static_cast<Rank>(ranks));
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

/// Each pair has an edge of its own.
PairsByKind direct_pairs() {
  PairsByKind pairs;
  for (std::size_t kind = 0; kind < kPairKinds; ++kind) {
    RouteKinds route;
    route.first[kind] = route.hops[kind] = 1;
    pairs[kind] = {.share = {}, .mean = route, .routes = {route}};
  }
  return pairs;
}

void add_shares(PairsByKind& pairs, const RankPlaces& places) {
  if (places.empty()) return;
  const ByKind<double> shares = shares_of(places);
  for (std::size_t kind = 0; kind < kPairKinds; ++kind) pairs[kind].share = shares[kind];
}

struct HashOfRoute {
  /// All numbers are halves. FNV-1a, of whole numbers in place of bytes.
  std::size_t operator()(const RouteKinds& route) const {
    constexpr std::uint64_t kBasis = 0xcbf29ce484222325, kPrime = 0x100000001b3;
    std::uint64_t hash = kBasis;
    for (const auto* numbers : {&route.first, &route.hops})
      for (const double number : *numbers)
        hash = (hash ^ static_cast<std::uint64_t>(2 * number)) * kPrime;
    return hash;
  }
};

PairsByKind relayed_pairs(const Graph& graph, const RankPlaces& places, std::uint64_t sources) {
  PairsByKind pairs;
  ByKind<double> counts{};
  ByKind<std::unordered_set<RouteKinds, HashOfRoute>> seen;
  for (const Rank source : sources_among(graph.ranks(), sources)) {
    const std::vector<RouteKinds> routes = routes_from(tree_from(graph, source), places, source);
    for (Rank to = 0; to < graph.ranks(); ++to) {
      const RouteKinds& route = routes[to];
      if (!(route.all_hops() > 0)) continue;
      const PairKind kind = kind_of(places[source], places[to]);
      ++counts[kind];
      if (seen[kind].insert(route).second) pairs[kind].routes.push_back(route);
      for (std::size_t edge = 0; edge < kPairKinds; ++edge) {
        pairs[kind].mean.first[edge] += route.first[edge];
        pairs[kind].mean.hops[edge] += route.hops[edge];
      }
    }
  }
  for (std::size_t kind = 0; kind < kPairKinds; ++kind) {
    if (counts[kind] > 0)
      for (auto* sums : {&pairs[kind].mean.first, &pairs[kind].mean.hops})
        for (double& sum : *sums) sum /= counts[kind];
  }
  return pairs;
}

}  // namespace

PairKind kind_of(const RankPlace& a, const RankPlace& b) {
  if (a.host != b.host) return PairKind::other_host;
  if (!a.numa_node || !b.numa_node) return PairKind::same_host;
  return a.numa_node == b.numa_node ? PairKind::same_node : PairKind::other_node;
}

ByKind<double> shares_of(const RankPlaces& places) {
  const auto pairs_of = [](double ranks) { return ranks * (ranks - 1); };
  std::map<std::uint32_t, double> on_host, of_known_node;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> on_node;
  for (const RankPlace& place : places) {
    ++on_host[place.host];
    if (!place.numa_node) continue;
    ++of_known_node[place.host];
    ++on_node[{place.host, *place.numa_node}];
  }
  double on_hosts = 0, known = 0, on_nodes = 0;
  for (const auto& [host, ranks] : on_host) on_hosts += pairs_of(ranks);
  for (const auto& [host, ranks] : of_known_node) known += pairs_of(ranks);
  for (const auto& [node, ranks] : on_node) on_nodes += pairs_of(ranks);
  const auto share = [&](double pairs) {
    return pairs / real(places.size()) / real(places.size() - 1);
  };
  ByKind<double> shares{};
  shares[PairKind::other_host] = 1 - share(on_hosts);
  shares[PairKind::same_host] = share(on_hosts - known);
  shares[PairKind::same_node] = share(on_nodes);
  shares[PairKind::other_node] = share(known - on_nodes);
  return shares;
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
  for (Rank at = from; at != to; at = next_[at][to]) {
    const PairKind edge = kind(at, next_[at][to]);
    if (at == from) route.first[edge] += kHalf;
    route.hops[edge] += kHalf;
  }
}

std::optional<Graph> graph_of(const Row& row) {
  const auto seed = row.case_object.find("seed");
  const bool seeded = seed != row.case_object.end() && seed->is_number_unsigned();
  return graph_of(row.topology->graph, row.topology->ranks,
                  seeded ? seed->get<std::uint64_t>() : 0);
}

std::optional<PairsByKind> pairs_by_kind(const ShapeFigures& figures, std::uint64_t ranks,
                                         const RankPlaces& places) {
  constexpr std::uint64_t kMaxEnds = 1U << 22, kMaxVisits = 1U << 20, kMinSources = 16;
  PairsByKind pairs;
  if (figures.hops_max == 1) {
    pairs = direct_pairs();
  } else {
    const auto ends = static_cast<std::uint64_t>(std::ceil(real(ranks) * figures.neighbours_mean));
    if (places.empty() || ends > kMaxEnds) return std::nullopt;
    const std::optional<Graph> made = graph_of(figures.graph, ranks, 0);
    if (!made) return std::nullopt;
    pairs = relayed_pairs(*made, places,
                          std::max(kMaxVisits / std::max<std::uint64_t>(ends, 1), kMinSources));
  }
  add_shares(pairs, places);
  return pairs;
}

}  // namespace rdmameter
