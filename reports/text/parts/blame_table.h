// SPDX-License-Identifier: Apache-2.0
// Who was late, as a table and a list of stalls.
#pragma once

#include <string>

#include "reports/summary/summary.h"
#include "reports/text/table.h"

namespace rdmameter {

/// Under the tables of numbers: for each case how many samples were late, by cause; then the
/// longest stalls of the initiator's loop, with their time. Empty: no case has such numbers.
std::string blame_text(const Group& group, const TextStyle& style);

}  // namespace rdmameter
