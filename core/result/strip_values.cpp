// SPDX-License-Identifier: Apache-2.0
#include "core/result/strip_values.h"

#include <algorithm>

#include "core/result/json_parts.h"

namespace rdmameter {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

/// Where the nested value begins that the key before `at` names; npos: it names none.
std::size_t nested_value(std::string_view json, std::size_t at) {
  at = json.find_first_not_of(kSpace, at);
  if (at == json.npos || json[at] != ':') return json.npos;
  at = json.find_first_not_of(kSpace, at + 1);
  if (at == json.npos || (json[at] != '{' && json[at] != '[')) return json.npos;
  return at;
}

}  // namespace

std::string strip_values(std::string_view json, std::span<const std::string_view> keys) {
  std::string kept;
  kept.reserve(json.size() / 4);
  std::size_t copied = 0, at = 0;
  while ((at = json.find('"', at)) != json.npos) {
    const std::size_t end = end_of_string(json, at);
    if (end == json.npos) break;
    const std::string_view text = json.substr(at + 1, end - at - 2);
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
