// SPDX-License-Identifier: Apache-2.0
#include "core/result/json_numbers.h"

#include <cmath>
#include <string>

namespace rdmameter {

using Json = nlohmann::ordered_json;

namespace {

constexpr std::uint64_t kExactInDouble = 1ULL << 53;

}  // namespace

Json count_to_json(std::uint64_t count) {
  return count < kExactInDouble ? Json(count) : Json(std::to_string(count));
}

Json number_to_json(double value) {
  const bool whole = value >= 0 && value < kExactInDouble && value == std::floor(value);
  return whole ? Json(static_cast<std::uint64_t>(value)) : Json(value);
}

double finite_or_zero(double value) {
  return std::isfinite(value) ? value : 0.0;
}

}  // namespace rdmameter
