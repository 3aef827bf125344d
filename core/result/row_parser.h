// SPDX-License-Identifier: Apache-2.0
// Rows of one result, one after the other: most of what a row says, the one before it has said.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/json_text.h"

namespace rdmameter {

// The JSON that this program writes, parsed several times as fast as the library does: a file of
// 100,000 rows has some 60 million numbers.

/// @param into  becomes what the library's parser gives; what it held before costs least if it was
///              alike, such as the row before
/// @param left_out  keys whose objects and arrays are not looked at: null stands in their place
/// @return      false: the text is no JSON, or not plain (escapes, bytes beyond ASCII, numbers
///              below 0 or of 19 digits, deeper than kMaxJsonDepth). The library's parser must be
///              asked; `into` holds anything
bool parse_plain_json(std::string_view text, Json& into, JsonKeys left_out = {});

/// Parses of a row the values alone that differ from those of the row before it: repetitions have
/// their case, their name and their counters of work in common. A row with other keys is parsed
/// whole, and with all that is left out where its text is not plain.
class RowParser {
 public:
  /// @param left_out  keys whose objects and arrays are not parsed: null stands in their place, but
  ///                  in text that is not plain (core/result/row_parser.h)
  explicit RowParser(JsonKeys left_out) : left_out_(left_out) {}

  /// @return  lives until the next call
  /// @throws nlohmann::json::exception  it is no JSON
  const Json& parse(std::string_view row);

 private:
  struct Member {
    std::string_view key, value;  ///< as they stand in the text
  };

  std::vector<Member> members_of(std::string_view row) const;
  void update(const std::vector<Member>& members, const std::vector<Member>& before);
  void parse_text(std::string_view text, Json& into) const;

  const JsonKeys left_out_;
  std::array<std::string, 2> texts_;  ///< of this row and of the one before it
  std::size_t latest_ = 0;
  std::vector<Member> members_;  ///< of the row before; empty: it tells nothing
  Json row_;
};

}  // namespace rdmameter
