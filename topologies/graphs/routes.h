// SPDX-License-Identifier: Apache-2.0
// Shortest paths: how far each rank is, and over which neighbour to get there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
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

// Where ranks are, and so of which kind each edge between them is: within a host, between two...
// They do not take the same time.

/// The place of a rank.
struct RankPlace {
  std::uint32_t host = 0;                  ///< numbered from 0 as they first appear
  std::optional<std::uint32_t> numa_node;  ///< of its CPU; nothing: not told, or of no matter

  bool operator==(const RankPlace&) const = default;
};
/// The places of all ranks, by rank. Empty: not known.
using RankPlaces = std::vector<RankPlace>;

/// @param hosts  their names, by rank
RankPlaces places_on(std::span<const std::string> hosts);

/// The kind of a pair of ranks.
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

/// The number of a route's edges by kind, and the kind of the first one. Both are means of the two
/// directions, as times are half round trips: halves where these differ.
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

  RouteKinds route(Rank a, Rank b) const;
  PairKind kind(Rank a, Rank b) const { return kind_of(places_[a], places_[b]); }

 private:
  RankPlaces places_;
  std::vector<std::vector<Rank>> next_;  ///< by rank and destination
};

}  // namespace rdmameter
