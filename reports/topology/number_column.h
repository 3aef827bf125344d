// SPDX-License-Identifier: Apache-2.0
// Columns of numbers that not every line has.
#pragma once

#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "reports/summary/unit.h"
#include "reports/text/table.h"

namespace rdmameter {

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
