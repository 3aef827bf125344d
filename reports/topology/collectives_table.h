// SPDX-License-Identifier: Apache-2.0
// Collectives side by side: of each kind, size and number of ranks the fastest first.
#pragma once

#include <span>

#include "reports/text/table.h"
#include "reports/topology/cases.h"

namespace rdmameter {

/// @param cases  others than collectives are passed over @return  without lines: there is none
Table collectives_table(std::span<const TopologyCase> cases);

}  // namespace rdmameter
