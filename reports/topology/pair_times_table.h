// SPDX-License-Identifier: Apache-2.0
// Times between ranks where there are too many for a matrix in the file.
#pragma once

#include <span>

#include "reports/text/table.h"
#include "reports/topology/cases.h"

namespace rdmameter {

/// How the times of a case's pairs spread, or of streams the bandwidths; medians over its
/// repetitions.
/// @param streams  only cases of these, or only others
/// @return without lines: no case has more ranks than a matrix
Table pair_times_table(std::span<const TopologyCase> cases, bool streams);

/// The pairs that are slowest against those as far apart, first those that are in most repetitions.
/// @return without lines: the case has none, or its ranks shared cores and that is not asked for
Table slowest_pairs_table(const TopologyCase& one, const nlohmann::ordered_json& context,
                          bool judge_shared);

}  // namespace rdmameter
