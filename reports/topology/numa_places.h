// SPDX-License-Identifier: Apache-2.0
// Where the ranks of a result are: on which host, and on which NUMA node of it.
#pragma once

#include <span>
#include <vector>

#include "core/result/row.h"
#include "topologies/graphs/placed_routes.h"

namespace rdmameter {

/// Of the ranks of each row; of a simulated one as in its network. NUMA nodes are those of the row.
/// A rank that was not pinned, and that rows saw on different nodes, has none. If no row has two
/// ranks on different nodes of a host, no rank has one.
/// @param of_result  hosts_of() its context
std::vector<RankPlaces> places_of(std::span<const Row* const> rows, const RankPlaces& of_result);

}  // namespace rdmameter
