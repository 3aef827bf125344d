// SPDX-License-Identifier: Apache-2.0
// Shapes over ranks: the columns of a terminal's tables and of a page's.
#pragma once

#include <cmath>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "reports/summary/metric.h"
#include "reports/text/table.h"
#include "reports/topology/cases.h"

namespace rdmameter {

/// Ranks and graph of each case, for columns to come.
Table shapes_keys(TopologyCases cases);

/// Adds what was measured: hops, latencies, rates; no column where no case has such a number.
void add_measurements(Table& table, TopologyCases cases);

/// Adds the median time over each number of hops; no column where no case has more than one.
void add_times_by_hops(Table& table, TopologyCases cases);

/// Adds what each graph needs, whatever the traffic; no column where no case has such a number.
/// @param all  all that the kernel counts, not QPs and pinned memory alone
void add_resources(Table& table, TopologyCases cases, bool all);

// ---- Collectives side by side: of each kind, size and number of ranks the fastest first.

/// @param cases  others than collectives are passed over
/// @return  with its title; without lines: there is none
Table collectives_table(TopologyCases cases);

// ---- Times between ranks where there are too many for a matrix in the file.

/// How the times of a case's pairs spread, or of streams the bandwidths; medians
/// over its repetitions.
/// @param streams  only cases of these, or only others
/// @return with its title; without lines: no case has more ranks than a matrix
Table pair_times_table(TopologyCases cases, bool streams);

/// The pairs that are slowest against those as far apart, first those that are in most repetitions.
/// @return with its title; without lines: the case has none, or its ranks shared cores and that is
/// not asked for
Table slowest_pairs_table(const TopologyCase& one, const Json& context, bool judge_shared);

// ---- Columns of numbers that not every line has.

/// Without its cells.
template <class Line>
struct NumberColumn {
  Table::Column column;  ///< without the unit
  std::function<Number(const Line&)> number;
  int max_decimals = 0;
  Unit unit = {};
};

/// Adds those columns of which some line has a number.
/// @param significant  three digits of each number; else as many decimals as the least of its
///                     column needs
template <class Line>
void add_numbers(Table& table, std::span<const Line> lines, std::vector<NumberColumn<Line>> columns,
                 bool significant = false) {
  for (auto& [column, number, most, unit] : columns) {
    column.unit = unit.name;
    std::vector<double> known;
    for (const Line& line : lines)
      if (const auto value = number(line)) known.push_back(*value / unit.size);
    if (known.empty()) continue;
    const int decimals = most == 0 ? 0 : decimals_for(known, most);
    for (const Line& line : lines) {
      const auto value = number(line);
      column.cells.emplace_back(!value        ? kUnknown
                                : significant ? three_digits(*value / unit.size, most)
                                              : fixed(*value / unit.size, decimals));
    }
    table.columns.push_back(std::move(column));
  }
}

/// The unit for times in one column, by the least of them.
template <class Line>
Unit unit_of_times(std::span<const Line> lines, Number Line::*member) {
  double min = INFINITY;
  for (const Line& line : lines)
    if (line.*member && *(line.*member) > 0) min = std::min(min, *(line.*member));
  return time_unit(std::isinf(min) ? 1000 : min);
}

}  // namespace rdmameter
