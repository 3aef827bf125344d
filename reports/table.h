// SPDX-License-Identifier: Apache-2.0
// A table of text, every column aligned to the right, in two lines of heads and lines of cells.
#pragma once

#include <string>
#include <vector>

#include "reports/text.h"

namespace rdmameter {

struct Table {
  struct Column {
    std::string head, unit;
    std::vector<std::string> cells;
  };
  std::vector<Column> columns;    ///< all with as many cells
  std::size_t key_columns = 0;    ///< the first ones, which tell what a line is about
  std::vector<bool> subordinate;  ///< lines (from the first) that explain the one above: dim
};

/// Lines that end in '\n'. Where the columns do not fit, they go on below, the key columns
/// repeated.
std::string render(const Table& table, const TextStyle& style);

}  // namespace rdmameter
