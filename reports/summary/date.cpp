// SPDX-License-Identifier: Apache-2.0
#include "reports/summary/date.h"

#include <cstdio>
#include <ctime>

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

std::string text_at(const nlohmann::ordered_json& object, const std::string& key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace rdmameter
