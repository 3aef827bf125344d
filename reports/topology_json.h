// SPDX-License-Identifier: Apache-2.0
// The `topology` of a row, written and read. docs/results.md says what each key means.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/checked_json.h"
#include "reports/topology_row.h"

namespace rdmameter {

/// Keys that do not apply are left out, and so are more than kMostEdges edges and the matrix of
/// more than kMostMatrixRanks ranks.
/// @throws std::logic_error  `more` repeats a key, or a vector's length is not the number of ranks
nlohmann::ordered_json topology_to_json(const TopologyData& data);

/// @param precision_bits  out, where a histogram was recorded with other ones than ours
/// @throws UsageError  naming the key and the reason
TopologyData read_topology(const CheckedJson& json, unsigned& precision_bits);

}  // namespace rdmameter
