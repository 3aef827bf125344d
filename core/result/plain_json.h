// SPDX-License-Identifier: Apache-2.0
// The JSON that this program writes, parsed several times as fast as the library does: a file of
// 100,000 rows has some 60 million numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

namespace rdmameter {

/// @return  what the library's parser gives; nothing: the text is no JSON, or not plain (escapes,
///          bytes beyond ASCII, numbers below 0 or of 19 digits, deeper than kMaxJsonDepth), and
///          the library's parser must be asked
std::optional<nlohmann::ordered_json> parse_plain_json(std::string_view text);

}  // namespace rdmameter
