// SPDX-License-Identifier: Apache-2.0
#include "core/wire/message.h"

#include "core/base/printable.h"

namespace rdmameter {
namespace {

struct Typed {
  std::string type;
};

void list_fields(auto& fields, Is<Typed> auto& message) {
  fields("type", message.type, {.max_size = 32});
}

}  // namespace

std::string type_of(const nlohmann::json& message) {
  return read_message<Typed>(message).type;
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
