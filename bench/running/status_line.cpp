// SPDX-License-Identifier: Apache-2.0
#include "bench/running/status_line.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>

#include "core/base/printable.h"

namespace rdmameter {
std::string clock_text(double seconds) {
  const auto whole = static_cast<std::uint64_t>(std::llround(seconds));
  const std::uint64_t minutes = whole / 60 % 60;
  if (whole < 3600) return fmt::format("{}:{:02}", minutes, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, minutes, whole % 60);
}

std::string status_line(std::uint64_t done, std::uint64_t all, double elapsed_s,
                        std::string_view name, std::size_t width) {
  std::string line = fmt::format("{}/{}  {} elapsed", done + 1, all, clock_text(elapsed_s));
  if (done > 0)
    line += fmt::format(", {} left", clock_text(elapsed_s / static_cast<double>(done) *
                                                static_cast<double>(all - done)));
  line += "  " + printable(name);
  return std::string(beginning(line, width > 0 ? width - 1 : 0));
}

bool stderr_is_interactive() {
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || *terminal == '\0' || std::strcmp(terminal, "dumb") == 0;
  return isatty(STDERR_FILENO) == 1 && !dumb && std::getenv("CI") == nullptr;
}

}  // namespace rdmameter
