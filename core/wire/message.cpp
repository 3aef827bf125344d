// SPDX-License-Identifier: Apache-2.0
#include "core/wire/message.h"

#include "core/base/error.h"
#include "core/base/printable.h"

namespace rdmameter {
std::string type_of(const Json& message) {
  constexpr std::size_t kMostBytes = 32;
  const auto found = message.find("type");  // of what is no object: its end
  if (found == message.end())
    throw MeasurementError("the peer's message: the key \"type\" is missing");
  return CheckedJson(*found, "type", Reading::message).text_within(0, kMostBytes);
}

Json printable_json(const Json& facts) {
  if (facts.is_string()) return printable(facts.get_ref<const std::string&>());
  if (facts.is_array()) {
    auto result = Json::array();
    for (const Json& each : facts) result.push_back(printable_json(each));
    return result;
  }
  if (facts.is_object()) {
    auto result = Json::object();
    for (const auto& [key, value] : facts.items()) result[printable(key)] = printable_json(value);
    return result;
  }
  return facts;
}

}  // namespace rdmameter
