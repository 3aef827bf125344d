// SPDX-License-Identifier: Apache-2.0
#include "core/base/sysfs.h"

#include <charconv>
#include <fstream>

namespace rdmameter {
namespace {

template <class Number>
std::optional<Number> number_in(const std::filesystem::path& file) {
  const std::optional<std::string> line = read_line(file);
  if (!line) return std::nullopt;
  Number value = 0;
  const char* const end = line->data() + line->size();
  const auto [stopped, error] = std::from_chars(line->data(), end, value);
  if (error != std::errc{} || stopped != end) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::string> read_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string line;
  if (!std::getline(stream, line)) return std::nullopt;
  constexpr const char* kBlanks = " \t\r\n";
  const auto begin = line.find_first_not_of(kBlanks);
  if (begin == std::string::npos) return std::nullopt;
  return line.substr(begin, line.find_last_not_of(kBlanks) - begin + 1);
}

std::optional<std::int64_t> read_number(const std::filesystem::path& file) {
  return number_in<std::int64_t>(file);
}

std::optional<std::uint64_t> read_count(const std::filesystem::path& file) {
  return number_in<std::uint64_t>(file);
}

}  // namespace rdmameter
