// SPDX-License-Identifier: Apache-2.0
#include "core/base/cpu_list.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/parse_value.h"

namespace rdmameter {
namespace {

constexpr unsigned kMaxCpus = 1U << 16;  // a wrong file must not fill the memory

}  // namespace

std::vector<unsigned> cpu_list(std::string_view text, char separator) {
  std::vector<unsigned> cpus;
  if (text.ends_with(separator)) return cpus;
  while (!text.empty()) {
    const std::string_view range = text.substr(0, text.find(separator));
    text.remove_prefix(std::min(text.size(), range.size() + 1));
    const auto dash = range.find('-');
    const auto first = parse_count(range.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_count(range.substr(dash + 1));
    if (!first || !last || *last < *first || *last >= kMaxCpus) return {};
    for (auto cpu = *first; cpu <= *last; ++cpu) cpus.push_back(static_cast<unsigned>(cpu));
  }
  return cpus;
}

std::string cpu_list_text(std::span<const unsigned> cpus) {
  std::string list;
  for (std::size_t first = 0; first < cpus.size();) {
    std::size_t last = first;
    while (last + 1 < cpus.size() && cpus[last + 1] == cpus[last] + 1) ++last;
    list += fmt::format("{}{}", list.empty() ? "" : ",", cpus[first]);
    if (last > first) list += fmt::format("-{}", cpus[last]);
    first = last + 1;
  }
  return list;
}

}  // namespace rdmameter
