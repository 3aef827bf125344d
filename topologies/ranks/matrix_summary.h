// SPDX-License-Identifier: Apache-2.0
// What a row keeps of a matrix that is too large for it.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/result/row.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {

/// The least value that is no less than this share of all. @param ascending  not empty
template <class Value>
Value nearest_rank(const std::vector<Value>& ascending, double share) {
  const double rank = std::ceil(share * static_cast<double>(ascending.size()));
  return ascending[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

/// A long route takes longer than a short one, so each pair is compared with those as
/// many hops apart.
/// @param matrix_ns  see TopologyData
/// @return nothing: no pair was measured
std::optional<MatrixSummary> summarise_matrix(
    const std::vector<std::vector<std::optional<double>>>& matrix_ns, const Graph& graph);

}  // namespace rdmameter
