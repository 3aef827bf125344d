// SPDX-License-Identifier: Apache-2.0
// How topologies grow with their ranks, as the page's chart needs it.
#pragma once

#include <string>

#include "reports/html/page_cases.h"
#include "reports/topology/model/model.h"

namespace rdmameter {

/// [{"name": shapes' setting, "quantities": [{"key", "name", "unit", "size"?,
///    "lines": [{"graph", "measured": [[ranks, least, median, greatest]],
///               "predicted": [[ranks, value]]}]}]}]
/// Times in ns. Predictions go from the least ranks measured to 16384, by powers of two; there is
/// none of rates and of connect time. Empty: no row has a topology.
Json topology_data(const PageCases& page);

// ---- What tells one set of topologies of a page from another.

/// "RC · base · recv srq": transport, the result where there are several, and what differs among
/// the models of the result.
std::string topology_title(const PageCases& page, std::size_t file, TopologyModels models,
                           std::size_t index);

}  // namespace rdmameter
