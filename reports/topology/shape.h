// SPDX-License-Identifier: Apache-2.0
// What a QP graph of a given shape comes to at any number of ranks: QPs and hops, without building
// it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace rdmameter {

/// Of a shape at so many ranks.
struct ShapeFigures {
  std::string graph;             ///< with its arguments at this size: "torus2d:8x8"
  std::uint64_t neighbours = 0;  ///< of the rank with most; QPs where there is one per edge
  double neighbours_mean = 0;
  double hops_mean = 0;  ///< over all pairs
  std::uint64_t hops_max = 0;
  bool one_qp = false;  ///< datagrams: one QP per rank, however many neighbours
};

/// The most ranks that figures are made for.
inline constexpr std::uint64_t kMostPredictedRanks = 1U << 20;

/// Shapes as `rdmameter topo` takes them: mesh, udmesh, ring, kring:K, star, hypercube,
/// torus2d:AxB (at another number of ranks the one nearest to a square), random:D.
/// Closed forms, but for random:D: the mean over several sources in one seeded random graph.
/// @return nothing: not such a shape, or it does not exist at so many ranks (a hypercube of 6)
std::optional<ShapeFigures> shape_figures(const std::string& graph, std::uint64_t ranks);

}  // namespace rdmameter
