// SPDX-License-Identifier: Apache-2.0
#include "core/result/checked_json.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/base/printable.h"

namespace rdmameter {

CheckedJson CheckedJson::at(std::string_view key) const {
  if (auto found = find(key)) return *std::move(found);
  lacks(key);
}

std::optional<CheckedJson> CheckedJson::find(std::string_view key) const {
  const auto found = object().find(key);
  if (found == value_->end()) return std::nullopt;
  return CheckedJson(*found, std::string(where_).append(where_.empty() ? "" : ": ").append(key),
                     reading_);
}

CheckedJson CheckedJson::at(std::size_t element) const {
  if (element >= array_size()) fail(fmt::format("has no element {}", element));
  return CheckedJson((*value_)[element], fmt::format("{}[{}]", where_, element), reading_);
}

const Json& CheckedJson::object() const {
  if (!value_->is_object()) fail("is not an object");
  return *value_;
}

std::size_t CheckedJson::array_size() const {
  if (!value_->is_array()) fail("is not an array");
  return value_->size();
}

std::size_t CheckedJson::array_size_within(std::size_t min, std::size_t max) const {
  if (array_size() > max)
    fail(fmt::format("has {} elements, and at most {} are read", array_size(), max));
  if (array_size() < min)
    fail(fmt::format("has {} elements, and {} are needed", array_size(), min));
  return array_size();
}

const std::string& CheckedJson::text() const {
  if (!value_->is_string()) fail("is not a string");
  return value_->get_ref<const std::string&>();
}

const std::string& CheckedJson::text_within(std::size_t min, std::size_t max) const {
  const std::string& value = text();
  if (value.size() < min || value.size() > max || (of_peer() && !is_printable(value)))
    fail(max == std::numeric_limits<std::size_t>::max()
             ? "is not a text without control characters"
             : fmt::format("is not a text of {} to {} bytes without control characters", min, max));
  return value;
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
  if (!value_->is_string() || of_peer()) fail("is not a whole number below 2^64");
  if (const auto number = parse_count(value_->get_ref<const std::string&>())) return *number;
  fail("is not the digits of a whole number below 2^64");
}

std::uint64_t CheckedJson::count_within(std::uint64_t min, std::uint64_t max) const {
  const std::uint64_t number = count();
  if (number < min || number > max) fail(fmt::format("is {}, outside {} to {}", number, min, max));
  return number;
}

std::uint64_t CheckedJson::count_at(std::size_t element, std::uint64_t min,
                                    std::uint64_t max) const {
  if (element < array_size() && (*value_)[element].is_number_unsigned())
    if (const auto number = (*value_)[element].get<std::uint64_t>(); number >= min && number <= max)
      return number;
  return at(element).count_within(min, max);
}

void CheckedJson::not_one_of(std::span<const std::string_view> names) const {
  text();  // or it is none
  fail(fmt::format("is neither \"{}\" nor \"{}\"",
                   fmt::join(names.first(names.size() - 1), "\", \""), names.back()));
}

void CheckedJson::require(std::string_view expected) const {
  if (text() != expected) fail(fmt::format("is not \"{}\"", expected));
}

void CheckedJson::require(std::uint64_t expected) const {
  if (count() != expected) fail(fmt::format("is not {}", expected));
}

void CheckedJson::fail(std::string_view reason) const {
  refuse(fmt::format("{} {}", where_.empty() ? "it" : where_, reason));
}

void CheckedJson::lacks(std::string_view key, std::string_view why) const {
  refuse(
      fmt::format("{}{}the key \"{}\" is missing{}", where_, where_.empty() ? "" : ": ", key, why));
}

void CheckedJson::refuse(const std::string& what) const {
  if (of_peer()) throw MeasurementError("the peer's message: " + printable(what));
  throw UsageError(printable(what) + ".");
}

}  // namespace rdmameter
