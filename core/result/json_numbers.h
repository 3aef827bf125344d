// SPDX-License-Identifier: Apache-2.0
// Numbers as result files hold them: exact to every reader, never NaN or Infinity.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>

namespace rdmameter {

/// A count: a number below 2^53, which every reader of JSON keeps exact; else its digits.
nlohmann::ordered_json count_to_json(std::uint64_t count);

/// A whole number without ".0", shorter and the same to every reader. The value is finite.
nlohmann::ordered_json number_to_json(double value);

/// JSON has neither NaN nor Infinity, and compare.py stops at null: they become 0.
double finite_or_zero(double value);

}  // namespace rdmameter
