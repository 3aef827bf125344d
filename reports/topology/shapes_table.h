// SPDX-License-Identifier: Apache-2.0
// Shapes over ranks: the columns of a terminal's tables and of a page's.
#pragma once

#include <span>

#include "reports/text/table.h"
#include "reports/topology/cases.h"

namespace rdmameter {

/// Ranks and graph of each case, for columns to come.
Table shapes_keys(std::span<const TopologyCase> cases);

/// Adds what was measured: hops, latencies, rates; no column where no case has such a number.
void add_measurements(Table& table, std::span<const TopologyCase> cases);

/// Adds the median time over each number of hops; no column where no case has more than one.
void add_times_by_hops(Table& table, std::span<const TopologyCase> cases);

/// Adds what each graph needs, whatever the traffic; no column where no case has such a number.
/// @param all  all that the kernel counts, not QPs and pinned memory alone
void add_resources(Table& table, std::span<const TopologyCase> cases, bool all);

}  // namespace rdmameter
