// SPDX-License-Identifier: Apache-2.0
// `rdmameter history show` and `history check`: what a terminal sees.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "reports/history/series.h"
#include "reports/text/text.h"

namespace rdmameter {

/// A line drawn for each series, with its first and latest number; changes are marked beneath.
std::string show_history(const std::vector<HistorySeries>& all, const TextStyle& style);

struct CheckOptions {
  std::span<const Acknowledgement> acknowledged = {};
  std::string since = {};  ///< changes before that time are left out; empty: none is
};

/// The changes alone: which case, when, from what to what, and what else changed then. What is
/// resolved or acknowledged is counted and marked.
std::string check_history(const std::vector<HistorySeries>& all, const TextStyle& style,
                          const CheckOptions& options = {});

}  // namespace rdmameter
