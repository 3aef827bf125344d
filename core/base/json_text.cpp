// SPDX-License-Identifier: Apache-2.0
#include "core/base/json_text.h"

#include <fmt/core.h>

#include <string_view>

#include "core/base/printable.h"

namespace rdmameter {

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  // It escapes those of ASCII itself, but for DEL.
  const std::string text =
      json.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = code_point_at(text, at);
    const std::string_view character = std::string_view(text).substr(at, bytes);
    if (point >= 0x7F && !is_printable(character))
      result += fmt::format("\\u{:04x}", point);  // none of these is beyond U+FFFF
    else
      result += character;
    at += bytes;
  }
  return result;
}

}  // namespace rdmameter
