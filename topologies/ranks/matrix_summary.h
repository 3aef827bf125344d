// SPDX-License-Identifier: Apache-2.0
// What a row keeps of a matrix that is too large for it.
#pragma once

#include <optional>
#include <vector>

#include "core/result/row.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {

/// A long route takes longer than a short one, so each pair is compared with those as many hops
/// apart.
/// @param matrix_ns  see TopologyData
/// @return nothing: no pair was measured
std::optional<MatrixSummary> summarise_matrix(
    const std::vector<std::vector<std::optional<double>>>& matrix_ns, const Graph& graph);

}  // namespace rdmameter
