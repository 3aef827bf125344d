// SPDX-License-Identifier: Apache-2.0
// What traffic beside cases has done to them, as tables.
#pragma once

#include <string>
#include <vector>

#include "reports/summary/background.h"
#include "reports/text/table.h"

namespace rdmameter {

/// Adds what each background did, and the ratios of the case beside it to the case alone.
/// @param effects  of each line of the table, in their order
void add_background(Table& table, const std::vector<BackgroundEffect>& effects);

/// Under the tables of numbers: a line for each case that had a background. Empty: none had.
std::string background_text(const Group& group, const TextStyle& style);

/// Of several cases and several backgrounds: the ratio of p99, of bandwidths that of Gb/s. Empty:
/// it would be a single line or column.
/// @param group  all cases of a result, of every kind
std::string background_matrix(const Group& group, const TextStyle& style);

}  // namespace rdmameter
