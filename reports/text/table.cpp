// SPDX-License-Identifier: Apache-2.0
#include "reports/text/table.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "reports/summary/metric.h"

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

/// What the first `count` columns take of a line.
std::size_t columns_width(const Table& table, std::size_t count) {
  std::size_t width = table.titles.empty() ? 0 : kGap;
  for (std::size_t i = 0; i < count; ++i) width += column_width(table, i) + kGap;
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
  std::vector<std::size_t> keys(table.key_columns);
  std::iota(keys.begin(), keys.end(), 0);
  const std::size_t key_width = columns_width(table, table.key_columns);
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
  std::size_t own = columns_width(table, table.columns.size());
  while (own > width) {
    const auto at = std::ranges::find(table.columns, true, &Table::Column::optional);
    if (at == table.columns.end()) break;
    own -= column_width(table, static_cast<std::size_t>(at - table.columns.begin())) + kGap;
    add_item(left_out, at->head);
    table.columns.erase(at);
  }
  return table;
}

/// Without the first line's indentation and the last line's end, which a title gets.
std::string wrapped_title(const std::string& title, std::size_t width) {
  const std::string lines = wrap(std::string(kGap, ' '), title, width);
  return lines.substr(kGap, lines.size() - kGap - 1);
}

/// Where the key columns leave no room for one of the others, as many of them as leave room for
/// several, from the first, are titles of the lines that share their values.
Table with_keys_as_titles(Table table, std::size_t width) {
  std::size_t widest = 0;
  for (std::size_t i = table.key_columns; i < table.columns.size(); ++i)
    widest = std::max(widest, column_width(table, i) + kGap);
  if (!table.titles.empty() || columns_width(table, table.key_columns) + widest <= width)
    return table;
  const std::size_t room = widest == 0 ? 0 : std::max(widest, width / 2);
  std::vector<std::string> titles(table.lines());
  while (table.key_columns > 0 && table.columns.size() > 1 &&
         columns_width(table, table.key_columns) + room > width) {
    const Table::Column key = table.columns.front();
    table.columns.erase(table.columns.begin());
    --table.key_columns;
    for (std::size_t i = 0; i < titles.size(); ++i)
      add_item(titles[i], fmt::format("{} {}{}{}", key.head, key.cells[i].text,
                                      key.unit.empty() ? "" : " ", key.unit));
    table.titles.clear();
    for (std::size_t i = 0; i < titles.size(); ++i)
      if (i == 0 || titles[i] != titles[i - 1])
        table.titles.push_back({i, wrapped_title(titles[i], width)});
  }
  return table;
}

}  // namespace

std::string known_text(const Number& value, int decimals, double unit) {
  return value ? fixed(*value / unit, decimals) : kUnknown;
}

std::vector<Table::Column> text_columns(std::initializer_list<std::string_view> heads) {
  return mapped(heads, [](std::string_view head) {
    return Table::Column{.head = std::string(head), .is_text = true};
  });
}

std::string render(const Table& table, const TextStyle& style) {
  assert(table.key_columns <= table.columns.size() && !table.columns.empty());
  std::string left_out;
  const Table fits = with_keys_as_titles(table, style.width);
  const std::string text = table.lines() < kLong
                               ? render_whole(fits, style)
                               : render_whole(narrowed(fits, style.width, left_out), style);
  if (left_out.empty()) return text;
  return text + note_text("Too wide here, so left out: " + left_out + ".", style);
}

std::string titled(const Table& table, const TextStyle& style, std::string_view indent) {
  if (table.lines() == 0) return "";
  return chapter(fmt::format("{}{}", indent, table.title), render(table, style), style);
}

bool any_noted(const Table& table) {
  return std::ranges::any_of(table.columns, [](const Table::Column& column) {
    return std::ranges::any_of(column.cells,
                               [](const Table::Cell& cell) { return !cell.note.empty(); });
  });
}

}  // namespace rdmameter
