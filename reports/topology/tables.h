// SPDX-License-Identifier: Apache-2.0
// Shapes over ranks: the columns of a terminal's tables and of a page's.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "reports/summary/unit.h"
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

// ---- Collectives side by side: of each kind, size and number of ranks the fastest first.

/// @param cases  others than collectives are passed over @return  without lines: there is none
Table collectives_table(std::span<const TopologyCase> cases);

// ---- Times between ranks where there are too many for a matrix in the file.

/// How the times of a case's pairs spread, or of streams the bandwidths; medians over its
/// repetitions.
/// @param streams  only cases of these, or only others
/// @return without lines: no case has more ranks than a matrix
Table pair_times_table(std::span<const TopologyCase> cases, bool streams);

/// The pairs that are slowest against those as far apart, first those that are in most repetitions.
/// @return without lines: the case has none, or its ranks shared cores and that is not asked for
Table slowest_pairs_table(const TopologyCase& one, const nlohmann::ordered_json& context,
                          bool judge_shared);

// ---- Columns of numbers that not every line has.

/// Adds the column, unless no line has such a number.
/// @param head  with the unit  @param size  of the unit
template <class Line>
void add_number_column(Table& table, std::span<const Line> lines, Table::Column head, double size,
                       int max_decimals,
                       const std::function<std::optional<double>(const Line&)>& number) {
  std::vector<double> known;
  for (const Line& line : lines)
    if (const auto value = number(line)) known.push_back(*value / size);
  if (known.empty()) return;
  const int decimals = max_decimals == 0 ? 0 : decimals_for(known, max_decimals);
  for (const Line& line : lines) {
    const auto value = number(line);
    head.cells.emplace_back(value ? fixed(*value / size, decimals) : kUnknown);
  }
  table.columns.push_back(std::move(head));
}

/// The unit for times in one column, by the least of them.
template <class Line>
Unit unit_of_times(std::span<const Line> lines, std::optional<double> Line::*member) {
  double min = INFINITY;
  for (const Line& line : lines)
    if (line.*member && *(line.*member) > 0) min = std::min(min, *(line.*member));
  return time_unit(std::isinf(min) ? 1000 : min);
}

}  // namespace rdmameter
