// SPDX-License-Identifier: Apache-2.0
// Pairs of ranks that could not be measured, and why.
#pragma once

#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reports/topology/cases.h"

namespace rdmameter {

/// From which rank to which.
using RankCells = std::set<std::pair<std::uint64_t, std::uint64_t>>;

/// Those that failed in any repetition.
RankCells failed_cells(const TopologyCase& one);

/// A sentence for each two ranks, without its full stop, of at most eight of them; and how many
/// more there are. Of a reason its first sentence.
/// @param context  of the result, for the names of hosts
std::vector<std::string> failed_pairs_text(const TopologyCase& one,
                                           const nlohmann::ordered_json& context);

}  // namespace rdmameter
