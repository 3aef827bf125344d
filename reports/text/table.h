// SPDX-License-Identifier: Apache-2.0
// A table, described once, for a terminal and a page (reports/html/html_table.h).
#pragma once

#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "reports/stats/sample.h"
#include "reports/text/text.h"

namespace rdmameter {

/// Stands for a number that is not known.
inline constexpr const char* kUnknown = "–";
/// The value in a unit of that size.
std::string known_text(const Number& value, int decimals, double unit = 1);
/// Of a count of which 0 says that it is not known.
inline Number known_count(std::uint64_t count) {
  return count == 0 ? Number() : Number(static_cast<double>(count));
}

struct Table {
  struct Cell {
    template <std::convertible_to<std::string_view> Text>
    Cell(const Text& shown, std::string_view beside = "")
        : text(std::string_view(shown)), note(beside) {}
    Cell(std::unsigned_integral auto count) : text(std::to_string(count)) {}
    /// @param css_class  of a page; a literal
    static Cell marked(std::string_view text, std::string_view css_class) {
      Cell cell(text);
      cell.mark = css_class;
      return cell;
    }
    /// A cell of a page alone. @param html  escaped already
    static Cell markup(std::string_view html) {
      Cell cell(html);
      cell.is_markup = true;
      return cell;
    }

    std::string text;
    std::string note;  ///< on a page beside the text; at a terminal a star, unless by note_sign
    std::string_view mark = {};
    bool is_markup = false;
  };
  struct Column {
    std::string head;
    std::string unit = {};       ///< "µs"
    std::string qualifier = {};  ///< "of a rank", "mean"
    bool is_text = false;        ///< sorted as text and to the left, on a page and among keys
    bool optional = false;       ///< at a terminal left out of a long table that is too wide
    std::vector<Cell> cells = {};
  };
  struct Title {
    std::size_t line;  ///< that follows it
    std::string text;
  };
  std::vector<Column> columns;     ///< all with as many cells
  std::size_t key_columns = 0;     ///< the first ones, which tell what a line is about
  std::string note_sign = {};      ///< "±": of notes, which at a terminal stand beneath their line
  std::vector<Title> titles = {};  ///< at a terminal, in order
  std::string title = {};          ///< what it is about; on a page with a capital

  std::size_t lines() const { return columns.empty() ? 0 : columns.front().cells.size(); }
  /// @param cells  one for each column
  void add_line(std::vector<Cell> cells) {
    assert(cells.size() == columns.size());
    for (std::size_t i = 0; i < columns.size(); ++i)
      columns[i].cells.push_back(std::move(cells[i]));
  }
};

/// Adds a line to a table, cell by cell. The first line makes the columns.
class TableLine {
 public:
  explicit TableLine(Table& table) : table_(table) {}
  ~TableLine() { assert(at_ == table_.columns.size()); }
  /// @param column  of the cell; the same in every line
  void add(Table::Column column, Table::Cell cell) {
    if (at_ == table_.columns.size()) {
      assert(table_.lines() <= 1);
      table_.columns.push_back(std::move(column));
    }
    table_.columns[at_++].cells.push_back(std::move(cell));
  }
  void add_text(std::string head, Table::Cell cell) {
    add({.head = std::move(head), .is_text = true}, std::move(cell));
  }

 private:
  Table& table_;
  std::size_t at_ = 0;
};

/// Columns of text.
std::vector<Table::Column> text_columns(std::initializer_list<std::string_view> heads);

/// Lines that end in '\n', every column aligned to the right; beneath titles the first one to the
/// left, as texts among the keys. Where the columns do not fit, optional ones of a long table are
/// left out, which a last line says; those that do not fit even so go on below, the key columns
/// repeated. Key columns that leave no room for another are titles instead, if there are none.
/// @param table  has columns
std::string render(const Table& table, const TextStyle& style);

/// The table beneath its title and an empty line. Empty: it has no line.
std::string titled(const Table& table, const TextStyle& style, std::string_view indent = "  ");

/// Has any cell a note?
bool any_noted(const Table& table);

}  // namespace rdmameter
