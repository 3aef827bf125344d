// SPDX-License-Identifier: Apache-2.0
#include "core/wire/fields.h"

#include <fmt/format.h>

#include "core/base/error.h"
#include "core/base/printable.h"

namespace rdmameter {
namespace {

[[noreturn]] void refuse(std::string_view key, const std::string& wanted) {
  throw MeasurementError(fmt::format("the peer's message: `{}` must be {}", key, wanted));
}

const nlohmann::json& field(const nlohmann::json& message, std::string_view key) {
  if (!message.is_object())
    throw MeasurementError(
        fmt::format("the peer's message: an object with `{}` was expected", key));
  const auto found = message.find(key);
  if (found == message.end())
    throw MeasurementError(fmt::format("the peer's message: `{}` is missing", key));
  return *found;
}

}  // namespace

std::uint64_t require_uint(const nlohmann::json& message, std::string_view key, std::uint64_t min,
                           std::uint64_t max) {
  const nlohmann::json& value = field(message, key);
  // The parser stores every whole number from 0 to 2^64-1 as unsigned; a json made by hand may hold
  // a signed one.
  const bool whole =
      value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
  if (whole) {
    const auto number = value.get<std::uint64_t>();
    if (number >= min && number <= max) return number;
  }
  refuse(key, fmt::format("a whole number from {} to {}", min, max));
}

bool require_bool(const nlohmann::json& message, std::string_view key) {
  const nlohmann::json& value = field(message, key);
  if (!value.is_boolean()) refuse(key, "true or false");
  return value.get<bool>();
}

std::string require_string(const nlohmann::json& message, std::string_view key,
                           std::size_t max_bytes, std::size_t min_bytes) {
  const nlohmann::json& value = field(message, key);
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    if (text.size() >= min_bytes && text.size() <= max_bytes && is_printable(text)) return text;
  }
  refuse(key,
         fmt::format("text of {} to {} bytes without control characters", min_bytes, max_bytes));
}

nlohmann::ordered_json printable_json(const nlohmann::json& facts) {
  if (facts.is_string()) return printable(facts.get_ref<const std::string&>());
  if (facts.is_array()) {
    auto result = nlohmann::ordered_json::array();
    for (const nlohmann::json& each : facts) result.push_back(printable_json(each));
    return result;
  }
  if (facts.is_object()) {
    auto result = nlohmann::ordered_json::object();
    for (const auto& [key, value] : facts.items()) result[printable(key)] = printable_json(value);
    return result;
  }
  return nlohmann::ordered_json(facts);
}

const nlohmann::json& require_array(const nlohmann::json& message, std::string_view key,
                                    std::size_t max_elements, std::size_t min_elements) {
  const nlohmann::json& value = field(message, key);
  if (!value.is_array() || value.size() < min_elements || value.size() > max_elements)
    refuse(key, fmt::format("an array of {} to {} elements", min_elements, max_elements));
  return value;
}

const nlohmann::json& require_object(const nlohmann::json& message, std::string_view key) {
  const nlohmann::json& value = field(message, key);
  if (!value.is_object()) refuse(key, "an object");
  return value;
}

}  // namespace rdmameter
