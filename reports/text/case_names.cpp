// SPDX-License-Identifier: Apache-2.0
#include "reports/text/case_names.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "reports/text/text.h"

namespace rdmameter {
namespace {

std::vector<std::string> name_parts(const std::string& name) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    parts.push_back(name.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::vector<std::string> common_parts(std::span<const std::string> names) {
  if (names.size() < 2) return {};
  std::vector<std::string> common = name_parts(names.front());
  for (const std::string& name : names) {
    const std::vector<std::string> parts = name_parts(name);
    std::erase_if(common, [&](const std::string& part) {
      return part.find(':') == part.npos || std::ranges::count(parts, part) == 0;
    });
  }
  return common;
}

std::string without_parts(const std::string& name, std::span<const std::string> parts) {
  std::vector<std::string> own = name_parts(name);
  std::erase_if(own, [&](const std::string& part) { return std::ranges::count(parts, part) > 0; });
  return fmt::format("{}", fmt::join(own, "/"));
}

std::string name_lines(const std::string& name, std::size_t width) {
  constexpr std::string_view kIndent = "    ";
  std::string text, line;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size() - 1) + 1;
    const std::string part = name.substr(begin, end - begin);
    if (text_width(line) > kIndent.size() && text_width(line) + text_width(part) > width) {
      text += line + "\n";
      line = kIndent;
    }
    line += part;
    begin = end;
  }
  return text + line + "\n";
}

}  // namespace rdmameter
