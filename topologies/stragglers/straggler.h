// SPDX-License-Identifier: Apache-2.0
// Which rank is slow with every peer, or which pair of ranks, as far as a matrix of times tells.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/result/row.h"
#include "topologies/graphs/routes.h"

namespace rdmameter {

using Matrix = std::vector<std::vector<std::optional<double>>>;

/// The median of each cell over several matrices of one case; nothing where one has none.
Matrix median_matrix(const std::vector<const Matrix*>& matrices);

/// The value that a quarter of them does not exceed: what is usual, however slow a few are.
/// @param values  not empty
double usual_of(std::vector<double> values);

/// How often as long as usual something must take to be slow.
inline constexpr double kSlowFactor = 1.33;

/// The fewest pairs of one kind for one of them to be called slow: of two, either may be
/// the usual one.
inline constexpr std::size_t kFewestPairs = 3;

/// Compared are only pairs whose routes have as many edges of each kind: within a host, between
/// hosts... Pairs that too few others are like are not judged.
/// A rank is a straggler where even the quicker quarter of its times takes far longer than the
/// quicker quarter of all such times (so that neither it nor what it relays for others sets the
/// standard): by a third, and by more than four times the others' own spread.
/// Where no rank is, or the other pairs speak against it, the slowest pair of neighbours, if it
/// takes a third longer than usual. Where a quarter of the pairs of other ranks has at least half
/// of its excess, times differ by groups (machines, switches), and there is no straggler.
/// @param edges   of the graph; empty: all pairs count as neighbours
/// @param places  of all ranks
/// @return  Verdict::none, node or path: a matrix has round trips, which tell no direction
Straggler find_straggler(const Matrix& matrix_ns,
                         const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges,
                         const RankPlaces& places);

}  // namespace rdmameter
