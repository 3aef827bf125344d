// SPDX-License-Identifier: Apache-2.0
// Which rank is slow with every peer?
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/result/row.h"

namespace rdmameter {

using Matrix = std::vector<std::vector<std::optional<double>>>;

/// The median of each cell over several matrices of one case; nothing where one has none.
Matrix median_matrix(const std::vector<const Matrix*>& matrices);

/// A rank, or else a pair of ranks, that takes longer than the others.
struct Straggler {
  std::uint32_t rank = 0;
  std::optional<std::uint32_t> to;  ///< of a pair: from `rank` to this one
  double factor = 1;                ///< times what others at the same number of hops take
};

/// A rank is a straggler where even the quicker quarter of its times takes far longer than the
/// quicker quarter of all at the same number of hops (so that neither it nor what it relays for
/// others sets the standard): by a third, and by more than four times the others' own spread.
/// Where no rank is, the slowest pair, if it takes half as long again.
/// @param edges  of the graph, for the hops; empty: all pairs count as neighbours
std::optional<Straggler> find_straggler(
    const Matrix& matrix_ns, const std::vector<std::pair<std::uint32_t, std::uint32_t>>& edges);

}  // namespace rdmameter
