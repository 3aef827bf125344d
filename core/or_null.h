// SPDX-License-Identifier: Apache-2.0
// What is not known is null in a result, never a made-up value.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace rdmameter {

template <class Value>
nlohmann::ordered_json or_null(const std::optional<Value>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace rdmameter
