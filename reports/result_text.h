// SPDX-License-Identifier: Apache-2.0
// What every reader of result files shares: the text, the parsing, and the texts of their errors.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rdmameter {

/// The file's bytes. @throws UsageError  it cannot be read, or is larger than any result
std::string read_result_text(const std::string& path);

/// Parses with a limit to its depth.
/// @param see  called as nlohmann's parser_callback_t: false drops the value
/// @throws UsageError  empty, cut off in the middle, no JSON (naming line and column)
nlohmann::ordered_json parse_result_text(const std::string& path, const std::string& text,
                                         const nlohmann::ordered_json::parser_callback_t& see = {});

/// @param context  of a file  @throws UsageError  not a result, or of another schema
void check_result_context(const std::string& path, const nlohmann::ordered_json& context);

}  // namespace rdmameter
