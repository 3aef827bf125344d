// SPDX-License-Identifier: Apache-2.0
// What each QP did, as a table: how far apart they are, and which are slow.
#pragma once

#include <string>
#include <vector>

#include "reports/summary/summary.h"
#include "reports/text/table.h"

namespace rdmameter {

/// Has every repetition numbers of several QPs?
bool has_per_qp(const CaseSummary& summary);

/// The QPs that are slow in more than half the repetitions, "3 (port 49155), 7 (port 49159)", those
/// that are slow most often first; a dash where there is none.
std::string slow_qps_text(const CaseSummary& summary);

/// Adds how many QPs there are, the least, median and greatest of them, fairness, and the slow.
/// @param cases  of each line of the table, in their order; each has_per_qp()
void add_per_qp(Table& table, const std::vector<const CaseSummary*>& cases);

/// Under the tables of numbers: a line for each case with several QPs. Empty: none has.
std::string per_qp_text(const Group& group, const TextStyle& style);

}  // namespace rdmameter
