// SPDX-License-Identifier: Apache-2.0
#include "reports/html/escape.h"

#include <fmt/core.h>

#include <cctype>

namespace rdmameter {

std::string script_json(const nlohmann::ordered_json& json) {
  using Json = nlohmann::ordered_json;
  std::string text;
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace))
    if (c == '<' || c == '>' || c == '&')  // of JSON only strings hold them, which know \u
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      text += c;
  return text;
}

std::string fragment_text(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string_view("/:.,_-~*()!").find(c) != std::string_view::npos)
      result += c;
    else
      result += fmt::format("%{:02X}", byte);
  }
  return result;
}

}  // namespace rdmameter
