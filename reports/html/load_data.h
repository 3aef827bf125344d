// SPDX-License-Identifier: Apache-2.0
// Latency over load, as the page's chart needs it.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/html/page_cases.h"

namespace rdmameter {

/// [{"name": the case without its rate, "file": index, "points": [[rate, reached, p50, p99,
///    saturated]], "saturation"?, "slo_ns"?, "slo_rate"?}]
/// Rates in requests per second, ascending; times in ns, null: too few samples. A sweep is a load;
/// so are the cases of open loops that differ in nothing but their rates, if there are two or more.
nlohmann::ordered_json load_data(const PageCases& page);

}  // namespace rdmameter
