// SPDX-License-Identifier: Apache-2.0
// How many pairs of ranks are of each kind, and what their routes have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/result/row.h"
#include "reports/stats/sample.h"
#include "topologies/graphs/graph.h"
#include "topologies/graphs/routes.h"

namespace rdmameter {

/// The kinds that costs are fitted to and predicted for: PairKind::other_host and same_host. Ranks
/// on NUMA nodes of one host are on the same host here: RankPlaces have no nodes.
inline constexpr std::size_t kHostKinds = 2;

/// Which part of all pairs of ranks is of each kind. @pre at least two ranks
ByKind<double> shares_of(const RankPlaces& places);

/// The time of a matrix from one rank to another, or from a block of them to another.
struct PairTime {
  Rank from, to;
  double ns;
};

/// All that the matrix has, row by row.
std::vector<PairTime> times_of(const std::vector<std::vector<Number>>& matrix_ns);

/// The graph of a row. Nothing: this program does not know it, or it cannot be.
std::optional<Graph> graph_of(const Row& row);

/// The pairs of a graph that are of one kind.
struct PairsOfKind {
  Number share;                    ///< of all pairs; nothing: not known
  RouteKinds mean;                 ///< over its pairs
  std::vector<RouteKinds> routes;  ///< each once
};
using PairsByKind = ByKind<PairsOfKind>;

/// The pairs of a shape at so many ranks; of many ranks, the routes from a sample of them. A route
/// back is taken for the one there.
/// @param figures  with the name of the graph
/// @param places  empty: where the ranks are is not known
/// @return nothing: the places are needed and not known, or the graph is too large to search
std::optional<PairsByKind> pairs_by_kind(const ShapeFigures& figures, std::uint64_t ranks,
                                         const RankPlaces& places);

}  // namespace rdmameter
