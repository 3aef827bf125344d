// SPDX-License-Identifier: Apache-2.0
// Who was late, as a table and a list of stalls.
#pragma once

#include <string>
#include <vector>

#include "reports/summary/summary.h"
#include "reports/text/table.h"

namespace rdmameter {

/// Do all repetitions say who was late?
bool has_blame(const CaseSummary& summary);

/// Adds from which length on samples are late, how many were, and how many of each cause.
/// @param cases  of each line of the table, in their order; each has_blame()
void add_blame(Table& table, const std::vector<const CaseSummary*>& cases);

/// The longest of all repetitions, at most so many, the longest first. @param cases  as above
std::vector<BlameData::Stall> longest_stalls(const std::vector<const CaseSummary*>& cases,
                                             std::size_t most);

/// "12.000000345": as traces have it.
std::string monotonic_text(const BlameData::Stall& stall);

/// Under the tables of numbers: for each case how many samples were late, by cause; then the
/// longest stalls of the initiator's loop, with their time. Empty: no case has such numbers.
std::string blame_text(const Group& group, const TextStyle& style);

}  // namespace rdmameter
