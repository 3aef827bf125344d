// SPDX-License-Identifier: Apache-2.0
// How topologies grow with their ranks, as the page's chart needs it.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/html/page_cases.h"

namespace rdmameter {

/// [{"name": shapes' setting, "quantities": [{"key", "name", "unit", "size"?,
///    "lines": [{"graph", "measured": [[ranks, least, median, greatest]],
///               "predicted": [[ranks, value]]}]}]}]
/// Times in ns. Predictions go from the least ranks measured to 16384, by powers of two; there is
/// none of rates and of connect time. Empty: no row has a topology.
nlohmann::ordered_json topology_data(const PageCases& page);

}  // namespace rdmameter
