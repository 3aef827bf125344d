// SPDX-License-Identifier: Apache-2.0
// Of which kind each edge of a route is: within a host, between two... They do not cost the same.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "reports/topology/model/rank_places.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {

/// Of two ranks.
enum class PairKind : std::size_t {
  other_host,
  same_host,   ///< where NUMA nodes count, it is not known whether they share one
  same_node,   ///< of NUMA
  other_node,  ///< of the same host
};

struct PairKindName {
  PairKind kind;
  const char* name;
};
/// All kinds, the nearest first.
inline constexpr std::array kPairKindNames{
    PairKindName{PairKind::same_node, "same NUMA node"},
    PairKindName{PairKind::other_node, "other NUMA node"},
    PairKindName{PairKind::same_host, "same host"},
    PairKindName{PairKind::other_host, "other host"},
};
inline constexpr std::size_t kPairKinds = kPairKindNames.size();

template <class T>
class ByKind : public std::array<T, kPairKinds> {
 public:
  using std::array<T, kPairKinds>::operator[];
  constexpr T& operator[](PairKind kind) { return (*this)[static_cast<std::size_t>(kind)]; }
  constexpr const T& operator[](PairKind kind) const {
    return (*this)[static_cast<std::size_t>(kind)];
  }
};

PairKind kind_of(const RankPlace& a, const RankPlace& b);

/// Which part of all pairs of ranks is of each kind. @pre at least two ranks
ByKind<double> shares_of(const RankPlaces& places);

/// Of a route, by kind: its edges, and which of them is the first one. Of the mean of there and
/// back, as times are half round trips: halves where these differ.
struct RouteKinds {
  ByKind<double> first{}, hops{};

  double all_hops() const { return std::accumulate(hops.begin(), hops.end(), 0.0); }
  auto operator<=>(const RouteKinds&) const = default;
};

/// The routes of a graph.
class PlacedRoutes {
 public:
  /// @param places  of all ranks
  PlacedRoutes(const Graph& graph, RankPlaces places);

  RouteKinds route(Rank from, Rank to) const;
  PairKind kind(Rank a, Rank b) const;

 private:
  void add(Rank from, Rank to, RouteKinds& route) const;

  RankPlaces places_;
  std::vector<std::vector<Rank>> next_;  ///< by rank and destination
};

/// The graph of a row. Nothing: this program does not know it, or it cannot be.
std::optional<Graph> graph_of(const Row& row);

/// Those pairs of a graph that are of one kind.
struct PairsOfKind {
  std::optional<double> share;     ///< of all pairs; nothing: not known
  RouteKinds mean;                 ///< over its pairs
  std::vector<RouteKinds> routes;  ///< each once
};
using PairsByKind = ByKind<PairsOfKind>;

/// Of a shape at so many ranks; of many ranks, the routes from a sample of them. A route back is
/// taken for the one there.
/// @param figures  with the name of the graph
/// @param places  empty: where the ranks are is not known
/// @return nothing: the places are needed and not known, or the graph is too large to search
std::optional<PairsByKind> pairs_by_kind(const ShapeFigures& figures, std::uint64_t ranks,
                                         const RankPlaces& places);

}  // namespace rdmameter
