// SPDX-License-Identifier: Apache-2.0
// "name:2x4" as people type it: how an entry of a table of graphs, traffics or schedules is chosen.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace rdmameter {

struct NameAndNumbers {
  std::string_view name;
  std::vector<std::uint64_t> numbers;
};

/// @return nullopt: no name, or what stands behind the colon is no list of numbers with x between
std::optional<NameAndNumbers> split_shape(std::string_view text);

/// A function that an entry must have: without it the entry does not compile.
template <class Function>
struct Required {
  Function* function;
  constexpr Required(auto given) : function(given) {}
  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    return function(std::forward<Arguments>(arguments)...);
  }
};

template <class Entry>
struct ChosenEntry {
  const Entry* entry;
  std::vector<std::uint64_t> numbers;
};

/// @return nothing: there is no such entry, or it takes other arguments
template <class Entry>
std::optional<ChosenEntry<Entry>> find_entry(std::span<const Entry* const> entries,
                                             std::string_view text) {
  auto parts = split_shape(text);
  const auto found = std::ranges::find(entries, parts ? parts->name : "", &Entry::name);
  if (found == entries.end() || parts->numbers.size() != (*found)->argument_count)
    return std::nullopt;
  return ChosenEntry<Entry>{*found, std::move(parts->numbers)};
}

/// @param kind  what the entries are, for the text: "graph"
/// @throws UsageError  there is no such entry (the text lists them), or it takes other arguments
template <class Entry>
ChosenEntry<Entry> read_entry(std::span<const Entry* const> entries, std::string_view kind,
                              std::string_view text) {
  if (auto found = find_entry(entries, text)) return *std::move(found);
  const std::string_view name = text.substr(0, text.find(':'));
  std::vector<std::string> known;
  for (const Entry* each : entries) {
    known.push_back(fmt::format("{}{}", each->name, each->arguments));
    if (each->name == name)
      throw UsageError(fmt::format("'{}': this {} is typed {}", text, kind, known.back()));
  }
  throw UsageError(
      fmt::format("there is no {0} '{1}' ({0}s: {2})", kind, text, fmt::join(known, ", ")));
}

}  // namespace rdmameter
