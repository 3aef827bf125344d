// SPDX-License-Identifier: Apache-2.0
// The price of loss of one case: stalls by their cause, and what the drivers counted.
#pragma once

#include <span>
#include <string>

#include "reports/summary/summary.h"
#include "reports/text/text.h"

namespace rdmameter {

/// Of all cases of some rows that have latencies, beneath their names: a line for each cause, what
/// its stalls were and what they should be, and the counters.
/// @param context  of the result
/// @return  "" where there are no latency samples
std::string loss_report(std::span<const Row> rows, const nlohmann::ordered_json& context,
                        const TextStyle& style);

}  // namespace rdmameter
