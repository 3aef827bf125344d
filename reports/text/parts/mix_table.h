// SPDX-License-Identifier: Apache-2.0
// Of an open loop's mix a line for each part: what was offered and reached, and how long it took.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "reports/summary/summary.h"
#include "reports/text/table.h"
#include "reports/text/text.h"

namespace rdmameter {

/// A part of a case's mix.
struct MixLine {
  const CaseSummary* summary;
  std::size_t part;  ///< its place in the mix
};

/// Do all repetitions have the parts of a mix?
bool has_mix(const CaseSummary& summary);

/// A line for each part. @param summary  has_mix()
std::vector<MixLine> mix_lines(const CaseSummary& summary);

/// Adds the columns of these lines. Each number is the median over a case's repetitions.
/// @param lines  of each line of the table, in their order
void add_mix(Table& table, const std::vector<MixLine>& lines);

/// Under the tables of numbers. Empty: no case has a mix.
std::string mix_table(const Group& group, const TextStyle& style);

}  // namespace rdmameter
