// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/model/pair_kinds.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "core/base/error.h"
#include "reports/summary/facts.h"
#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

/// Spread over all ranks and, as the golden ratio is far from any fraction, over the places within
/// hosts too.
std::vector<Rank> sources_among(Rank ranks, std::uint64_t count) {
  std::vector<Rank> sources;
  constexpr double kGoldenRatio = 0.6180339887498949, kMiddle = 0.5;
  for (std::uint64_t i = 0; i < std::min<std::uint64_t>(count, ranks); ++i) {
    const double turns = (real(i) + kMiddle) * kGoldenRatio;
    sources.push_back(count < ranks ? static_cast<Rank>((turns - std::floor(turns)) * real(ranks))
                                    : static_cast<Rank>(i));
  }
  return sources;
}

/// A route while routes are counted. There may be millions, so numbers are small and whole.
struct CountedRoute {
  std::array<std::uint32_t, kHostKinds> hops{};
  std::uint16_t lower_end = 0, higher_end = 0;  ///< kinds of the first and the last edge, in order

  auto operator<=>(const CountedRoute&) const = default;

  /// The last edge is the first one of the way back.
  RouteKinds kinds() const {
    constexpr double kHalf = 0.5;
    RouteKinds kinds;
    std::ranges::copy(hops, kinds.hops.begin());
    kinds.first[lower_end] += kHalf;
    kinds.first[higher_end] += kHalf;
    return kinds;
  }
};

/// The routes from one rank to all others that it can reach.
std::vector<CountedRoute> routes_from(const Tree& tree, const RankPlaces& places, Rank root) {
  std::vector<std::vector<Rank>> by_hops;
  for (Rank rank = 0; rank < places.size(); ++rank) {
    const std::size_t hops = tree.hops[rank];
    if (rank == root || hops == kUnreachable) continue;
    if (by_hops.size() <= hops) by_hops.resize(hops + 1);
    by_hops[hops].push_back(rank);
  }
  const auto kind = [&places](Rank one, Rank other) {
    return static_cast<std::uint16_t>(kind_of(places[one], places[other]));
  };
  std::vector<CountedRoute> routes(places.size());
  for (const std::vector<Rank>& ranks : by_hops)
    for (const Rank rank : ranks) {
      const Rank before = tree.parent[rank];
      const std::uint16_t first = kind(root, tree.first[rank]), last = kind(before, rank);
      CountedRoute& route = routes[rank];
      route.hops = routes[before].hops;
      ++route.hops[last];
      route.lower_end = std::min(first, last);
      route.higher_end = std::max(first, last);
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

/// Routes of one kind of pairs, and how many pairs have each.
using RouteCounts = std::map<CountedRoute, std::uint64_t>;

/// Each pair has an edge of its own.
ByKind<RouteCounts> direct_routes() {
  ByKind<RouteCounts> counts;
  for (std::uint16_t kind = 0; kind < kHostKinds; ++kind) {
    CountedRoute route{.lower_end = kind, .higher_end = kind};
    route.hops[kind] = 1;
    counts[kind][route] = 1;
  }
  return counts;
}

PairsOfKind pairs_with(const RouteCounts& counts) {
  PairsOfKind pairs;
  double all = 0;
  for (const auto& [route, count] : counts) {
    const RouteKinds& kinds = pairs.routes.emplace_back(route.kinds());
    all += real(count);
    for (std::size_t edge = 0; edge < kHostKinds; ++edge) {
      pairs.mean.first[edge] += real(count) * kinds.first[edge];
      pairs.mean.hops[edge] += real(count) * kinds.hops[edge];
    }
  }
  for (std::size_t edge = 0; edge < kHostKinds && all > 0; ++edge) {
    pairs.mean.first[edge] /= all;
    pairs.mean.hops[edge] /= all;
  }
  return pairs;
}

ByKind<RouteCounts> relayed_routes(const Graph& graph, const RankPlaces& places,
                                   std::uint64_t sources) {
  ByKind<RouteCounts> counts;
  for (const Rank source : sources_among(graph.ranks(), sources)) {
    const Tree tree = tree_from(graph, source);
    const std::vector<CountedRoute> routes = routes_from(tree, places, source);
    for (Rank to = 0; to < graph.ranks(); ++to)
      if (to != source && tree.hops[to] != kUnreachable)
        ++counts[kind_of(places[source], places[to])][routes[to]];
  }
  return counts;
}

}  // namespace

ByKind<double> shares_of(const RankPlaces& places) {
  std::map<std::uint32_t, std::uint64_t> ranks_of_host;
  for (const RankPlace& place : places) ++ranks_of_host[place.host];
  double on_one_host = 0;  // ordered pairs
  for (const auto& [host, ranks] : ranks_of_host) on_one_host += real(ranks) * real(ranks - 1);
  ByKind<double> shares{};
  shares[PairKind::same_host] = on_one_host / real(places.size()) / real(places.size() - 1);
  shares[PairKind::other_host] = 1 - shares[PairKind::same_host];
  return shares;
}

std::vector<PairTime> times_of(const std::vector<std::vector<Number>>& matrix_ns) {
  std::vector<PairTime> times;
  for (Rank from = 0; from < matrix_ns.size(); ++from)
    for (Rank to = 0; to < matrix_ns[from].size(); ++to)
      if (const Number& ns = matrix_ns[from][to]) times.push_back({from, to, *ns});
  return times;
}

std::optional<Graph> graph_of(const Row& row) {
  return graph_of(row.topology->graph, row.topology->ranks, count_at(row.case_object, "seed"));
}

std::optional<PairsByKind> pairs_by_kind(const ShapeFigures& figures, std::uint64_t ranks,
                                         const RankPlaces& places) {
  constexpr std::uint64_t kMaxEnds = 1U << 22, kMaxVisits = 1U << 20, kMinSources = 16;
  ByKind<RouteCounts> counts = direct_routes();
  if (figures.hops_max != 1) {
    const auto ends = static_cast<std::uint64_t>(std::ceil(real(ranks) * figures.neighbours_mean));
    if (places.empty() || ends > kMaxEnds) return std::nullopt;
    const std::optional<Graph> made = graph_of(figures.graph, ranks, 0);
    if (!made) return std::nullopt;
    counts = relayed_routes(*made, places,
                            std::max(kMaxVisits / std::max<std::uint64_t>(ends, 1), kMinSources));
  }
  PairsByKind pairs;
  const ByKind<double> shares = places.empty() ? ByKind<double>() : shares_of(places);
  for (std::size_t kind = 0; kind < kHostKinds; ++kind) {
    pairs[kind] = pairs_with(counts[kind]);
    if (!places.empty()) pairs[kind].share = shares[kind];
  }
  return pairs;
}

}  // namespace rdmameter
