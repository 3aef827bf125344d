// SPDX-License-Identifier: Apache-2.0
// A table of a page. tables.js makes its heads sort the lines.
#pragma once

#include <string>
#include <string_view>

namespace rdmameter {

class HtmlTable {
 public:
  /// @param caption  text; what the table is about
  explicit HtmlTable(std::string_view caption);

  /// A column; all before the first line.
  /// @param kind  "text", or "number": aligned to the right, sorted by value
  void head(std::string_view name, std::string_view unit = "", std::string_view kind = "text");

  void line();                                                     ///< begins one
  void cell(std::string_view text, std::string_view mark = "");    ///< @param mark  CSS class
  void number(std::string_view text, std::string_view note = "");  ///< @param note  "± 0.1"
  void markup(std::string_view html);                              ///< a cell, escaped already

  bool empty() const { return !has_lines_; }
  std::string html() const;

 private:
  std::string caption_, heads_, lines_;
  bool has_lines_ = false;
};

}  // namespace rdmameter
