// SPDX-License-Identifier: Apache-2.0
#include "reports/text/table.h"

#include <fmt/core.h>

#include <algorithm>

namespace rdmameter {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kLong = 8;  ///< lines; fewer are seen at a glance even if they go on below

/// "mean [µs]"
std::string beneath_head(const Table::Column& column) {
  if (column.unit.empty()) return column.qualifier;
  return fmt::format("{}{}[{}]", column.qualifier, column.qualifier.empty() ? "" : " ",
                     column.unit);
}

std::string shown(const Table& table, const Table::Cell& cell) {
  return cell.text + (cell.note.empty() || !table.note_sign.empty() ? "" : " *");
}

/// In the dim line beneath, where notes have a sign.
std::string beneath(const Table& table, std::size_t index, std::size_t line) {
  if (table.note_sign.empty()) return "";
  const bool is_last_key = index + 1 == table.key_columns;
  return is_last_key ? table.note_sign : table.columns[index].cells[line].note;
}

bool any_beneath(const Table& table, std::size_t line) {
  return !table.note_sign.empty() &&
         std::ranges::any_of(table.columns, [line](const Table::Column& column) {
           return !column.cells[line].note.empty();
         });
}

std::size_t column_width(const Table& table, std::size_t index) {
  const Table::Column& column = table.columns[index];
  std::size_t width = std::max(text_width(column.head), text_width(beneath_head(column)));
  for (std::size_t i = 0; i < table.lines(); ++i)
    width = std::max(
        {width, text_width(shown(table, column.cells[i])), text_width(beneath(table, index, i))});
  return width;
}

std::string without_trailing_space(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string render_columns(const Table& table, const std::vector<std::size_t>& chosen,
                           const TextStyle& style) {
  std::string head, unit;
  std::vector<std::string> lines(table.lines()), notes(table.lines());
  for (const std::size_t index : chosen) {
    const Table::Column& column = table.columns[index];
    const bool beneath_title = index == 0 && !table.titles.empty();
    const bool left = beneath_title || (column.is_text && index < table.key_columns);
    const auto add = [left, indent = beneath_title ? 2 * kGap : kGap,
                      width = column_width(table, index)](std::string& line,
                                                          const std::string& text) {
      if (left)
        line += std::string(indent, ' ') + pad_right(text, width);
      else
        line += pad_left(text, width + kGap);
    };
    add(head, column.head);
    add(unit, beneath_head(column));
    for (std::size_t i = 0; i < lines.size(); ++i) {
      add(lines[i], shown(table, column.cells[i]));
      add(notes[i], beneath(table, index, i));
    }
  }
  std::string text = bold(without_trailing_space(head), style) + "\n";
  unit = without_trailing_space(unit);
  if (!unit.empty()) text += dim(unit, style) + "\n";
  auto title = table.titles.begin();
  const auto add_titles = [&](std::size_t line) {
    for (; title != table.titles.end() && title->line <= line; ++title)
      text += std::string(kGap, ' ') + title->text + "\n";
  };
  for (std::size_t i = 0; i < lines.size(); ++i) {
    add_titles(i);
    text += without_trailing_space(lines[i]) + "\n";
    if (any_beneath(table, i)) text += dim(without_trailing_space(notes[i]), style) + "\n";
  }
  add_titles(lines.size());
  return text;
}

std::string render_whole(const Table& table, const TextStyle& style) {
  std::vector<std::size_t> keys;
  std::size_t key_width = 0;
  for (std::size_t i = 0; i < table.key_columns; ++i) {
    keys.push_back(i);
    key_width += column_width(table, i) + kGap;
  }
  std::string text;
  std::vector<std::size_t> chosen = keys;
  std::size_t width = key_width;
  for (std::size_t i = table.key_columns; i < table.columns.size(); ++i) {
    const std::size_t own = column_width(table, i) + kGap;
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

/// Without as many of the optional columns, from the first, as it takes to fit.
/// @param left_out  heads of those columns
Table narrowed(Table table, std::size_t width, std::string& left_out) {
  std::size_t own = 0;
  for (std::size_t i = 0; i < table.columns.size(); ++i) own += column_width(table, i) + kGap;
  while (own > width) {
    const auto at = std::ranges::find(table.columns, true, &Table::Column::optional);
    if (at == table.columns.end()) break;
    own -= column_width(table, static_cast<std::size_t>(at - table.columns.begin())) + kGap;
    left_out += (left_out.empty() ? "" : ", ") + at->head;
    table.columns.erase(at);
  }
  return table;
}

}  // namespace

std::vector<Table::Column> text_columns(std::initializer_list<std::string_view> heads) {
  std::vector<Table::Column> columns;
  for (const std::string_view head : heads)
    columns.push_back({.head = std::string(head), .is_text = true});
  return columns;
}

std::string render(const Table& table, const TextStyle& style) {
  std::string left_out;
  const std::string text = table.lines() < kLong
                               ? render_whole(table, style)
                               : render_whole(narrowed(table, style.width, left_out), style);
  if (left_out.empty()) return text;
  return text +
         dim(wrap("  ", "Too wide here, so left out: " + left_out + ".", style.width), style);
}

std::vector<std::string> markdown_lines(const Table& table) {
  std::string head = "|", rule = "|";
  for (const Table::Column& column : table.columns) {
    head += fmt::format(" {} |", markdown_text(column.head));
    rule += column.is_text ? " --- |" : " --: |";
  }
  std::vector<std::string> lines = {head + "\n" + rule + "\n"};
  for (std::size_t i = 0; i < table.lines(); ++i) {
    std::string line = "|";
    for (const Table::Column& column : table.columns)
      line += fmt::format(" {} |", markdown_text(column.cells[i].text));
    lines.push_back(line + "\n");
  }
  return lines;
}

}  // namespace rdmameter
