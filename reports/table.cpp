// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <algorithm>

namespace rdmameter {
namespace {

constexpr std::size_t kGap = 2;

std::size_t column_width(const Table::Column& column) {
  std::size_t width = std::max(text_width(column.head), text_width(column.unit));
  for (const std::string& cell : column.cells) width = std::max(width, text_width(cell));
  return width;
}

std::string without_trailing_space(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string render_columns(const Table& table, const std::vector<std::size_t>& chosen,
                           const TextStyle& style) {
  std::string head, unit;
  std::vector<std::string> lines(table.columns.front().cells.size());
  for (const std::size_t index : chosen) {
    const Table::Column& column = table.columns[index];
    const std::size_t width = column_width(column) + kGap;
    head += pad_left(column.head, width);
    unit += pad_left(column.unit, width);
    for (std::size_t i = 0; i < lines.size(); ++i) lines[i] += pad_left(column.cells[i], width);
  }
  std::string text = bold(without_trailing_space(head), style) + "\n";
  unit = without_trailing_space(unit);
  if (!unit.empty()) text += dim(unit, style) + "\n";
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string line = without_trailing_space(lines[i]);
    const bool below = i < table.subordinate.size() && table.subordinate[i];
    text += (below ? dim(line, style) : line) + "\n";
  }
  return text;
}

}  // namespace

std::string render(const Table& table, const TextStyle& style) {
  std::vector<std::size_t> keys;
  std::size_t key_width = 0;
  for (std::size_t i = 0; i < table.key_columns; ++i) {
    keys.push_back(i);
    key_width += column_width(table.columns[i]) + kGap;
  }
  std::string text;
  std::vector<std::size_t> chosen = keys;
  std::size_t width = key_width;
  for (std::size_t i = table.key_columns; i < table.columns.size(); ++i) {
    const std::size_t own = column_width(table.columns[i]) + kGap;
    if (width + own > style.width && chosen.size() > keys.size()) {
      text += render_columns(table, chosen, style) + "\n";
      chosen = keys;
      width = key_width;
    }
    chosen.push_back(i);
    width += own;
  }
  return text + render_columns(table, chosen, style);
}

}  // namespace rdmameter
