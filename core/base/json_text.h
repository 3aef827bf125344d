// SPDX-License-Identifier: Apache-2.0
// JSON that people may look at: a file, or what a command prints. Messages are dumped as they are.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rdmameter {

/// In strings, what is not UTF-8 is replaced, and each character that a terminal would obey
/// (U+202E) is escaped: it reads as before.
/// @param indent  -1: one line
std::string json_text(const nlohmann::ordered_json& json, int indent = -1);

}  // namespace rdmameter
