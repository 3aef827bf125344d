// SPDX-License-Identifier: Apache-2.0
// What each thread of a case measured, and each direction.
#pragma once

#include <string>

#include "reports/summary/summary.h"
#include "reports/text/text.h"

namespace rdmameter {

/// A line for each thread and direction of each case, medians over the repetitions. Empty: no case
/// has several.
std::string parts_table(const Group& group, const TextStyle& style);

}  // namespace rdmameter
