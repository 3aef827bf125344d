// SPDX-License-Identifier: Apache-2.0
#include "core/session/fields.h"

#include <fmt/format.h>

#include "core/error.h"

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

/// C0 and DEL, and C1 as UTF-8 writes it (U+0080 to U+009F: C2 80 to C2 9F).
bool has_control_characters(std::string_view text) noexcept {
  unsigned char before = 0;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    if ((byte < 0x20 && byte != '\t' && byte != '\n') || byte == 0x7f) return true;
    if (before == 0xc2 && byte < 0xa0) return true;
    before = byte;
  }
  return false;
}

}  // namespace

std::uint64_t require_uint(const nlohmann::json& message, std::string_view key, std::uint64_t least,
                           std::uint64_t most) {
  const nlohmann::json& value = field(message, key);
  // The parser stores every whole number from 0 to 2^64-1 as unsigned; a json made by hand may hold
  // a signed one.
  const bool whole =
      value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
  if (whole) {
    const auto number = value.get<std::uint64_t>();
    if (number >= least && number <= most) return number;
  }
  refuse(key, fmt::format("a whole number from {} to {}", least, most));
}

double require_number(const nlohmann::json& message, std::string_view key, double least,
                      double most) {
  const nlohmann::json& value = field(message, key);
  if (value.is_number()) {
    const auto number = value.get<double>();
    if (number >= least && number <= most) return number;  // false for NaN
  }
  refuse(key, fmt::format("a number from {} to {}", least, most));
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
    if (text.size() >= min_bytes && text.size() <= max_bytes && !has_control_characters(text))
      return text;
  }
  refuse(key,
         fmt::format("text of {} to {} bytes without control characters", min_bytes, max_bytes));
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
