// SPDX-License-Identifier: Apache-2.0
// Lines that are no wider than COLUMNS or, without it, than the terminal: what the program says by
// itself; tables and curves have a TextStyle. In a locale that is not UTF-8 they are ASCII.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "core/log/print.h"

namespace rdmameter {

/// The width of stderr [columns]; 80 where neither COLUMNS nor a terminal gives one.
std::size_t stderr_width();

/// Lines for stderr: broken at blanks where they are too wide, or as they are where neither COLUMNS
/// nor a terminal says how wide they may be, so that a message is one line of a log.
std::string for_stderr(const std::string& text);
/// Lines for stdout, likewise.
std::string for_stdout(const std::string& text);

/// tell() and print() of such lines.
template <class... Values>
void tell_lines(fmt::format_string<Values...> format, Values&&... values) {
  tell_text(for_stderr(fmt::format(format, std::forward<Values>(values)...)));
}
template <class... Values>
void print_lines(fmt::format_string<Values...> format, Values&&... values) {
  print_text(for_stdout(fmt::format(format, std::forward<Values>(values)...)));
}

/// Breaks lines as for_stderr() does, in `width` columns. What goes on below is indented by
/// "rdmameter: ", by the line's own indentation, or by a first column; an indented command of ours
/// can still be copied.
std::string broken_lines(std::string_view text, std::size_t width);

}  // namespace rdmameter
