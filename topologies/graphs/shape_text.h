// SPDX-License-Identifier: Apache-2.0
// "name:2x4" as people type it: how a row of a table of graphs, traffics or schedules is chosen.
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

/// A function that a row must have: without it the row does not compile.
template <class Function>
struct Required {
  Function* function;
  constexpr Required(auto given) : function(given) {}
  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    return function(std::forward<Arguments>(arguments)...);
  }
};

template <class Row>
struct ChosenRow {
  const Row* row;
  std::vector<std::uint64_t> numbers;
};

/// @return nothing: there is no such row, or it takes other arguments
template <class Row>
std::optional<ChosenRow<Row>> find_row(std::span<const Row* const> rows, std::string_view text) {
  auto parts = split_shape(text);
  const auto found = std::ranges::find(rows, parts ? parts->name : "", &Row::name);
  if (found == rows.end() || parts->numbers.size() != (*found)->argument_count) return std::nullopt;
  return ChosenRow<Row>{*found, std::move(parts->numbers)};
}

/// @param kind  what the rows are, for the text: "graph"
/// @throws UsageError  there is no such row (the text lists them), or it takes other arguments
template <class Row>
ChosenRow<Row> read_row(std::span<const Row* const> rows, std::string_view kind,
                        std::string_view text) {
  if (auto found = find_row(rows, text)) return *std::move(found);
  const std::string_view name = text.substr(0, text.find(':'));
  std::vector<std::string> known;
  for (const Row* each : rows) {
    known.push_back(fmt::format("{}{}", each->name, each->arguments));
    if (each->name == name)
      throw UsageError(fmt::format("'{}': this {} is typed {}", text, kind, known.back()));
  }
  throw UsageError(
      fmt::format("there is no {0} '{1}' ({0}s: {2})", kind, text, fmt::join(known, ", ")));
}

}  // namespace rdmameter
