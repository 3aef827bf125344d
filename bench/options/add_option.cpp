// SPDX-License-Identifier: Apache-2.0
#include "bench/options/add_option.h"

#include <fmt/core.h>

#include "core/base/error.h"
#include "core/base/parse_value.h"

namespace rdmameter {

std::uint64_t read_count(std::string_view option, std::string_view text, std::uint64_t min,
                         std::uint64_t max) {
  const auto value = parse_count(text);
  if (!value || *value < min || *value > max)
    throw invalid_value(option, text, fmt::format("a whole number from {} to {}", min, max));
  return *value;
}

}  // namespace rdmameter
