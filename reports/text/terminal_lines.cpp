// SPDX-License-Identifier: Apache-2.0
#include "reports/text/terminal_lines.h"

#include <unistd.h>

#include <algorithm>

#include "reports/text/text.h"

namespace rdmameter {

namespace {

bool is_command(std::string_view line) {
  constexpr std::string_view kIndent = "  ";
  return line.starts_with(kIndent) && (line.substr(kIndent.size()).starts_with("rdmameter ") ||
                                       line.substr(kIndent.size()).starts_with("RDMAMETER_TOKEN="));
}

/// A line that is too wide.
std::string broken_line(std::string_view line, std::size_t width) {
  std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  if (is_command(line)) return wrap_command(line.substr(0, first), line.substr(first), width);
  // A column before the text keeps its place.
  if (const std::size_t gap = line.find("  ", first); gap != line.npos)
    if (const std::size_t column = line.find_first_not_of(' ', gap);
        column != line.npos && text_width(line.substr(0, column)) <= width / 2)
      first = column;
  for (const std::string_view who : {"rdmameter: ", "warning: ", "error: "})
    if (line.starts_with(who)) first = who.size();
  return wrap(line.substr(0, first), line.substr(first), width);
}

}  // namespace

std::size_t stderr_width() {
  const std::size_t told = told_columns(STDERR_FILENO);
  return told == 0 ? 80 : told;
}

std::string broken_lines(std::string_view text, std::size_t width) {
  std::string broken;
  for (const std::string_view line : text_lines(text))
    broken += text_width(line) <= width ? std::string(line) + "\n" : broken_line(line, width);
  return broken;
}

std::string for_stdout(const std::string& text) {
  const TextStyle style = terminal_style();
  const std::string readable = style.utf8 ? text : to_ascii(text);
  return style.narrow ? broken_lines(readable, style.width) : readable;
}

std::string for_stderr(const std::string& text) {
  const std::size_t width = told_columns(STDERR_FILENO);
  const std::string readable = terminal_style().utf8 ? text : to_ascii(text);
  return width == 0 ? readable : broken_lines(readable, width);
}

}  // namespace rdmameter
