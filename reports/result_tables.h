// SPDX-License-Identifier: Apache-2.0
// The tables of one test over one transport.
#pragma once

#include <string>

#include "reports/summary.h"
#include "reports/text.h"

namespace rdmameter {

/// A line for each case, and beneath it how its repetitions differ. Empty: no case has such
/// numbers.
std::string latency_table(const Group& group, const TextStyle& style);
std::string bandwidth_table(const Group& group, const TextStyle& style);

}  // namespace rdmameter
