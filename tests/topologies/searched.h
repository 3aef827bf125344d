// SPDX-License-Identifier: Apache-2.0
// What counts are compared with: a search of a graph that has nothing of the program's own routes,
// and the shapes that there are among so many ranks.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "topologies/graphs/graph.h"

namespace rdmameter {

/// The most ranks for which counts are compared one by one. A sanitizer needs ten times as long.
#ifdef RDMAMETER_SANITIZED
inline constexpr Rank kMostCounted = 20;
#else
inline constexpr Rank kMostCounted = 64;
#endif

inline constexpr std::uint32_t kNoRoute = std::numeric_limits<std::uint32_t>::max();

/// Breadth first, by rank; kNoRoute where no edges lead.
inline std::vector<std::uint32_t> breadth_first_hops(const Graph& graph, Rank root) {
  std::vector<std::uint32_t> hops(graph.ranks(), kNoRoute);
  std::vector<Rank> found{root};
  hops[root] = 0;
  for (std::size_t at = 0; at < found.size(); ++at)
    for (const Rank next : graph.neighbours[found[at]])
      if (hops[next] == kNoRoute) {
        hops[next] = hops[found[at]] + 1;
        found.push_back(next);
      }
  return hops;
}

/// From every rank.
inline std::vector<std::vector<std::uint32_t>> all_hops(const Graph& graph) {
  std::vector<std::vector<std::uint32_t>> hops;
  for (Rank rank = 0; rank < graph.ranks(); ++rank) hops.push_back(breadth_first_hops(graph, rank));
  return hops;
}

/// Every shape that exists among so many ranks, with small and large arguments. All are connected.
inline std::vector<std::string> shapes_among(Rank n) {
  std::set<std::string> names{"mesh", "udmesh", "ring", "star"};
  for (const Rank k : {1U, 2U, 3U, n / 4, n / 2})
    if (k >= 1 && 2 * k <= n) names.insert("kring:" + std::to_string(k));
  if (std::has_single_bit(n)) names.insert("hypercube");
  for (Rank a = 1; a <= n; ++a)
    if (n % a == 0) names.insert("torus2d:" + std::to_string(a) + "x" + std::to_string(n / a));
  for (const Rank degree : {3U, 4U, n - 1})
    if (degree < n && degree * n % 2 == 0) names.insert("random:" + std::to_string(degree));
  return {names.begin(), names.end()};
}

/// Of those that have the same edges one, and udmesh, whose QPs are others: a kring:1 is a ring, a
/// torus2d:1x2 a mesh of two.
inline std::vector<std::string> graphs_among(Rank n) {
  std::set<std::vector<std::vector<Rank>>> seen;
  std::vector<std::string> names;
  for (const std::string& name : shapes_among(n))
    if (const ChosenShape shape = read_shape(name, 1);
        shape.shape->datagrams || seen.insert(shape.make(n).neighbours).second)
      names.push_back(name);
  return names;
}

}  // namespace rdmameter
