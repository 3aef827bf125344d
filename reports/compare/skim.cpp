// SPDX-License-Identifier: Apache-2.0
#include "reports/compare/skim.h"

#include <algorithm>

namespace rdmameter {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

/// Behind the string whose opening quote is at `at`; the text's end where it has no closing one.
std::size_t end_of_string(std::string_view json, std::size_t at) {
  for (++at;; at += 2) {  // past a backslash and what it escapes
    at = json.find_first_of("\"\\", at);
    if (at >= json.size()) return json.size();
    if (json[at] == '"') return at + 1;
  }
}

/// Behind the object or array that begins at `at`; npos where it does not end.
std::size_t end_of_nested(std::string_view json, std::size_t at) {
  std::size_t depth = 0;
  while (at < json.size()) {
    const char c = json[at];
    if (c == '"') {
      at = end_of_string(json, at);
      continue;
    }
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at + 1;
    ++at;
  }
  return json.npos;
}

/// Where the nested value begins that the key before `at` names; npos: it names none.
std::size_t nested_value(std::string_view json, std::size_t at) {
  at = json.find_first_not_of(kSpace, at);
  if (at == json.npos || json[at] != ':') return json.npos;
  at = json.find_first_not_of(kSpace, at + 1);
  if (at == json.npos || (json[at] != '{' && json[at] != '[')) return json.npos;
  return at;
}

}  // namespace

std::string skim(std::string_view json, std::span<const std::string_view> keys) {
  std::string kept;
  kept.reserve(json.size() / 4);
  std::size_t copied = 0, at = 0;
  while ((at = json.find('"', at)) != json.npos) {
    const std::size_t end = end_of_string(json, at);
    const std::string_view text =
        json.substr(at + 1, end - at - 2 < json.size() ? end - at - 2 : 0);
    at = end;
    if (std::ranges::find(keys, text) == keys.end()) continue;
    const std::size_t begin = nested_value(json, end);
    if (begin == json.npos) continue;
    at = end_of_nested(json, begin);
    kept.append(json, copied, begin - copied);
    if (at == json.npos) return kept;  // cut off within: so is what comes out
    kept.append("null");
    copied = at;
  }
  return kept.append(json, copied);
}

}  // namespace rdmameter
