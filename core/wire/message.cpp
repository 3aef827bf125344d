// SPDX-License-Identifier: Apache-2.0
#include "core/wire/message.h"

#include "core/base/error.h"
#include "core/base/printable.h"

namespace rdmameter {
std::string type_of(const nlohmann::json& message) {
  constexpr std::size_t kMostBytes = 32;
  const auto found = message.find("type");  // of what is no object: its end
  if (found == message.end())
    throw MeasurementError("the peer's message: the key \"type\" is missing");
  const nlohmann::ordered_json type(*found);
  return CheckedJson(type, "type", Reading::message).text_within(0, kMostBytes);
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

}  // namespace rdmameter
