// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/facts.h"

#include <cstdio>
#include <ctime>

#include "core/base/parse_value.h"
#include "core/base/printable.h"

namespace rdmameter {
namespace {

/// "+01:00" in seconds; "" and "Z" are 0; nothing for anything else.
std::optional<int> zone_seconds(const char* text) {
  if (*text == '\0' || std::string_view(text) == "Z") return 0;
  char sign = 0, more = 0;
  int hours = 0, minutes = 0;
  if (std::sscanf(text, "%c%2d:%2d%c", &sign, &hours, &minutes, &more) != 3 ||
      (sign != '+' && sign != '-') || hours < 0 || hours > 23 || minutes < 0 || minutes > 59)
    return std::nullopt;
  return (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

}  // namespace

std::optional<std::int64_t> epoch_seconds(const std::string& date) {
  std::tm time{};
  const char* zone = strptime(date.c_str(), "%Y-%m-%dT%H:%M:%S", &time);
  if (zone == nullptr) return std::nullopt;
  const auto offset = zone_seconds(zone);
  if (!offset) return std::nullopt;
  return std::int64_t{timegm(&time)} - *offset;
}

const Json& fact_at(const Json& json, std::string_view where) {
  static const Json kNothing;
  const bool goes_on = where.starts_with('/');
  const std::string_view key = goes_on ? where.substr(1, where.find('/', 1) - 1) : where;
  const Json* found = nullptr;
  if (const auto index = json.is_array() ? parse_count(key) : std::nullopt)
    found = *index < json.size() ? &json.at(*index) : nullptr;
  else if (const auto at = json.find(key); at != json.end())
    found = &*at;
  if (found == nullptr) return kNothing;
  return goes_on && key.size() + 1 < where.size() ? fact_at(*found, where.substr(key.size() + 1))
                                                  : *found;
}

std::string text_at(const Json& json, std::string_view where) {
  const Json& fact = fact_at(json, where);
  return fact.is_string() ? fact.get<std::string>() : "";
}

std::optional<double> number_at(const Json& json, std::string_view where) {
  const Json& fact = fact_at(json, where);
  return fact.is_number() ? std::optional(fact.get<double>()) : std::nullopt;
}

std::uint64_t count_at(const Json& json, std::string_view where) {
  const Json& fact = fact_at(json, where);
  return fact.is_number_unsigned() ? fact.get<std::uint64_t>() : 0;
}

const Json& list_at(const Json& json, std::string_view where) {
  static const Json kNone = Json::array();
  const Json& fact = fact_at(json, where);
  return fact.is_array() ? fact : kNone;
}

std::string value_text(const Json& value) {
  if (value.is_null()) return "";
  return printable(value.is_string() ? value.get_ref<const std::string&>() : value.dump());
}

std::string test_of(const Row& row) {
  const std::string test = text_at(row.case_object, "test");
  return test.empty() ? std::string(split(row.name, "/").front()) : test;
}

std::string transport_of(const Row& row) {
  if (const Json& told = fact_at(row.case_object, "transport"); told.is_string()) return told;
  const auto parts = split(row.name, "/");
  // A control path test's name has no transport.
  return parts.size() < 2 || parts[1].find(':') != std::string::npos ? "" : std::string(parts[1]);
}

}  // namespace rdmameter
