// SPDX-License-Identifier: Apache-2.0
// The stalls that made samples late.
#pragma once

#include <string>
#include <vector>

#include "reports/summary/summary.h"

namespace rdmameter {

/// Do all repetitions say who was late?
bool has_blame(const CaseSummary& summary);

/// The longest of all repetitions, at most so many, the longest first. @param cases  each
/// has_blame()
std::vector<BlameData::Stall> longest_stalls(const std::vector<const CaseSummary*>& cases,
                                             std::size_t most);

/// "12.000000345": as traces have it.
std::string monotonic_text(const BlameData::Stall& stall);

}  // namespace rdmameter
