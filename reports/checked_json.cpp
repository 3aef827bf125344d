// SPDX-License-Identifier: Apache-2.0
#include "reports/checked_json.h"

#include <fmt/core.h>

#include <charconv>

#include "core/error.h"

namespace rdmameter {

CheckedJson CheckedJson::at(std::string_view key) const {
  if (auto found = find(key)) return *std::move(found);
  fail(fmt::format("the key \"{}\" is missing", key));
}

std::optional<CheckedJson> CheckedJson::find(std::string_view key) const {
  const auto found = object().find(key);
  if (found == value_->end()) return std::nullopt;
  return CheckedJson(*found, fmt::format("{}: {}", where_, key));
}

CheckedJson CheckedJson::at(std::size_t element) const {
  if (element >= array_size()) fail(fmt::format("has no element {}", element));
  return CheckedJson((*value_)[element], fmt::format("{}[{}]", where_, element));
}

const nlohmann::ordered_json& CheckedJson::object() const {
  if (!value_->is_object()) fail("is not an object");
  return *value_;
}

std::size_t CheckedJson::array_size() const {
  if (!value_->is_array()) fail("is not an array");
  return value_->size();
}

const std::string& CheckedJson::text() const {
  if (!value_->is_string()) fail("is not a string");
  return value_->get_ref<const std::string&>();
}

bool CheckedJson::flag() const {
  if (!value_->is_boolean()) fail("is neither true nor false");
  return value_->get<bool>();
}

double CheckedJson::not_negative() const {
  if (!value_->is_number()) fail("is not a number");
  const double number = value_->get<double>();  // finite: the parser refuses what overflows
  if (number < 0) fail("is negative");
  return number;
}

std::uint64_t CheckedJson::count() const {
  if (value_->is_number_unsigned()) return value_->get<std::uint64_t>();
  if (value_->is_number_integer()) {  // the parser's signed integers are the negative ones,
    if (const auto number = value_->get<std::int64_t>(); number >= 0)  // but not a program's
      return static_cast<std::uint64_t>(number);
    fail("is negative");
  }
  if (!value_->is_string()) fail("is not a whole number below 2^64");
  const std::string& digits = value_->get_ref<const std::string&>();
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size())
    fail("is not the digits of a whole number below 2^64");
  return number;
}

std::uint64_t CheckedJson::count_within(std::uint64_t least, std::uint64_t most) const {
  const std::uint64_t number = count();
  if (number < least || number > most)
    fail(fmt::format("is {}, outside {} to {}", number, least, most));
  return number;
}

void CheckedJson::fail(std::string_view reason) const {
  throw UsageError(fmt::format("{} {}.", where_, reason));
}

}  // namespace rdmameter
