// SPDX-License-Identifier: Apache-2.0
// "name:2x4" as people type it: what graphs and traffics have in common.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rdmameter {

struct NameAndNumbers {
  std::string_view name;
  std::vector<std::uint64_t> numbers;
};

/// @return nullopt: no name, or what stands behind the colon is no list of numbers with x between
std::optional<NameAndNumbers> split_shape(std::string_view text);

}  // namespace rdmameter
