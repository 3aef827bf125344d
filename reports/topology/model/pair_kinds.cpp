// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/model/pair_kinds.h"

#include <algorithm>
#include <cmath>
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

/// A route while routes are counted. There may be millions, so numbers are small and whole.
struct CountedRoute {
  std::array<std::uint32_t, kPairKinds> hops{};
  std::uint16_t lower_end = 0, higher_end = 0;  ///< kinds of the first and the last edge, in order

  bool operator==(const CountedRoute&) const = default;

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

struct HashOfRoute {
  /// FNV-1a, of whole numbers in place of bytes.
  std::size_t operator()(const CountedRoute& route) const {
    constexpr std::uint64_t kBasis = 0xcbf29ce484222325, kPrime = 0x100000001b3;
    std::uint64_t hash = kBasis;
    for (const std::uint32_t hops : route.hops) hash = (hash ^ hops) * kPrime;
    return ((hash ^ route.lower_end) * kPrime ^ route.higher_end) * kPrime;
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

/// Counts pairs of one kind.
class KindCounter {
 public:
  void add(const CountedRoute& route) {
    ++pairs_;
    ++ends_[route.lower_end];
    ++ends_[route.higher_end];
    for (std::size_t edge = 0; edge < kPairKinds; ++edge) hops_[edge] += route.hops[edge];
    if (seen_.insert(route).second) routes_.push_back(route.kinds());
  }

  PairsOfKind take() {
    PairsOfKind pairs{.share = {}, .mean = {}, .routes = std::move(routes_)};
    for (std::size_t edge = 0; edge < kPairKinds && pairs_ > 0; ++edge) {
      pairs.mean.first[edge] = real(ends_[edge]) / 2 / real(pairs_);
      pairs.mean.hops[edge] = real(hops_[edge]) / real(pairs_);
    }
    return pairs;
  }

 private:
  std::uint64_t pairs_ = 0;
  std::array<std::uint64_t, kPairKinds> ends_{}, hops_{};  ///< by kind of edge
  std::unordered_set<CountedRoute, HashOfRoute> seen_;
  std::vector<RouteKinds> routes_;
};

PairsByKind relayed_pairs(const Graph& graph, const RankPlaces& places, std::uint64_t sources) {
  ByKind<KindCounter> counters;
  for (const Rank source : sources_among(graph.ranks(), sources)) {
    const Tree tree = tree_from(graph, source);
    const std::vector<CountedRoute> routes = routes_from(tree, places, source);
    for (Rank to = 0; to < graph.ranks(); ++to)
      if (to != source && tree.hops[to] != kUnreachable)
        counters[kind_of(places[source], places[to])].add(routes[to]);
  }
  PairsByKind pairs;
  for (std::size_t kind = 0; kind < kPairKinds; ++kind) pairs[kind] = counters[kind].take();
  return pairs;
}

/// How many ordered pairs of two places in the list have equal numbers.
double equal_pairs(std::vector<std::uint64_t> numbers) {
  std::ranges::sort(numbers);
  double pairs = 0;
  for (auto at = numbers.begin(); at != numbers.end();) {
    const auto end =
        std::find_if(at, numbers.end(), [at](std::uint64_t one) { return one != *at; });
    pairs +=
        real(static_cast<std::uint64_t>(end - at)) * real(static_cast<std::uint64_t>(end - at - 1));
    at = end;
  }
  return pairs;
}

}  // namespace

ByKind<double> shares_of(const RankPlaces& places) {
  std::vector<std::uint64_t> hosts, nodes;  // of each rank; of each whose node is known
  std::vector<std::uint64_t> hosts_of_nodes;
  for (const RankPlace& place : places) {
    hosts.push_back(place.host);
    if (!place.numa_node) continue;
    hosts_of_nodes.push_back(place.host);
    nodes.push_back(std::uint64_t{place.host} << 32 | *place.numa_node);
  }
  const double on_hosts = equal_pairs(std::move(hosts)),
               known = equal_pairs(std::move(hosts_of_nodes)),
               on_nodes = equal_pairs(std::move(nodes));
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
