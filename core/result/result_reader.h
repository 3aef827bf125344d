// SPDX-License-Identifier: Apache-2.0
// A result file, read row by row: neither its tree nor all of its rows ever stand in memory.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace rdmameter {

/// The functions that take a file's parts, in this order.
struct ResultParts {
  std::function<void(nlohmann::ordered_json& context)> context;  ///< checked: ours, of our schema
  /// @param where  "FILE: row 3 (NAME)", for the text of errors
  std::function<void(const nlohmann::ordered_json& row, const std::string& where)> row;
};

/// @param left_out  keys whose objects and arrays are not parsed: null stands in their place
/// @throws UsageError  naming the file and, where known, line or row: it cannot be read, is empty,
///                     cut off, no JSON, not a result, or of another schema
void read_result_parts(const std::string& path, const ResultParts& parts,
                       std::span<const std::string_view> left_out = {});

}  // namespace rdmameter
