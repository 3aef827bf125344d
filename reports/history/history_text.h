// SPDX-License-Identifier: Apache-2.0
// `rdmameter history show` and `history check`: what a terminal sees.
#pragma once

#include <string>
#include <vector>

#include "reports/history/series.h"
#include "reports/text.h"

namespace rdmameter {

/// A line drawn for each series, with its first and latest number; changes are marked beneath.
std::string show_history(const std::vector<HistorySeries>& all, const TextStyle& style);

/// The changes alone: which case, when, from what to what, and what else changed then.
std::string check_history(const std::vector<HistorySeries>& all, const TextStyle& style);

}  // namespace rdmameter
