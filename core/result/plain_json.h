// SPDX-License-Identifier: Apache-2.0
// The JSON that this program writes, parsed several times as fast as the library does: a file of
// 100,000 rows has some 60 million numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string_view>

namespace rdmameter {

/// @param into  becomes what the library's parser gives; what it held before costs least if it was
///              alike, such as the row before
/// @param left_out  keys whose objects and arrays are not looked at: null stands in their place
/// @return      false: the text is no JSON, or not plain (escapes, bytes beyond ASCII, numbers
///              below 0 or of 19 digits, deeper than kMaxJsonDepth). The library's parser must be
///              asked; `into` holds anything
bool parse_plain_json(std::string_view text, nlohmann::ordered_json& into,
                      std::span<const std::string_view> left_out = {});

}  // namespace rdmameter
