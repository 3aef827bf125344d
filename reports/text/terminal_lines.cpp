// SPDX-License-Identifier: Apache-2.0
#include "reports/text/terminal_lines.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "reports/text/text.h"

namespace rdmameter {

std::size_t stderr_width() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string broken_lines(std::string_view text, std::size_t width) {
  std::string broken;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::size_t first = std::min(line.find_first_not_of(' '), line.size());
    // A column before the text keeps its place.
    if (const std::size_t gap = line.find("  ", first); gap != line.npos)
      if (const std::size_t column = line.find_first_not_of(' ', gap);
          column != line.npos && text_width(line.substr(0, column)) <= width / 2)
        first = column;
    for (const std::string_view who : {"rdmameter: ", "warning: ", "error: "})
      if (line.starts_with(who)) first = who.size();
    broken += text_width(line) <= width ? std::string(line) + "\n"
                                        : wrap(line.substr(0, first), line.substr(first), width);
  }
  return broken;
}

std::string for_stdout(const std::string& text) {
  return isatty(STDOUT_FILENO) == 1 ? broken_lines(text, terminal_style().width) : text;
}

std::string for_stderr(const std::string& text) {
  return isatty(STDERR_FILENO) == 1 ? broken_lines(text, stderr_width()) : text;
}

}  // namespace rdmameter
