// SPDX-License-Identifier: Apache-2.0
// JSON as text: what people may look at, numbers, and the parts of a large one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

namespace rdmameter {

/// Keys keep their order, as in the files.
using Json = nlohmann::ordered_json;
using JsonKeys = std::span<const std::string_view>;

// JSON that people may look at: a file, or what a command prints. Messages are dumped as they are.

/// In strings, what is not UTF-8 is replaced, and each character that a terminal would obey
/// (U+202E) is escaped: it reads as before.
/// @param indent  -1: one line
std::string json_text(const Json& json, int indent = -1);

// Numbers as result files hold them: exact to every reader, never NaN or Infinity.

/// 2^53: a double holds every count below it exactly, and no sum of them in truth reaches it.
inline constexpr std::uint64_t kMaxExactCount = 1ULL << 53;

/// A count: a number below 2^53, which every reader of JSON keeps exact; else its digits.
Json count_to_json(std::uint64_t count);

/// A whole number without ".0", shorter and the same to every reader. The value is finite.
Json number_to_json(double value);

/// JSON has neither NaN nor Infinity, and compare.py stops at null: they become 0.
double finite_or_zero(double value);

// Where in a JSON text do the parts of a value stand? Looks at quotes and brackets alone: the
// caller parses the part that it wants.

inline constexpr std::size_t kMaxJsonDepth = 64;  ///< ours nest six deep

/// Behind the string whose opening quote is at `at`; npos where it has no closing one.
std::size_t end_of_string(std::string_view json, std::size_t at);

/// Behind the object or array that begins at `at`; npos where it does not end, or nests
/// deeper than kMaxJsonDepth.
std::size_t end_of_nested(std::string_view json, std::size_t at);

/// Goes through a text, which may come piece by piece.
class JsonParts {
 public:
  /// Is given what is not gone through yet. @return  that with more behind it, or as it was: there
  ///                                                 is no more
  using More = std::function<std::string_view(std::string_view rest)>;

  explicit JsonParts(std::string_view json, More more = {}) : rest_(json), more_(std::move(more)) {}

  /// Goes past a bracket, comma or colon. @return  false: something else is next
  bool take(char c);

  /// Goes past the string, number, object... that is next. The view lasts until the next call.
  /// @return  empty: there is none, or it does not end
  std::string_view value();

  /// Goes past two brackets and what is between them, part by part, each of which `part` goes past.
  /// @return  false: something else stands there, or `part` has returned false
  template <class Part>
  bool each(char open, char close, const Part& part) {
    if (!take(open)) return false;
    if (take(close)) return true;
    do {
      if (!part()) return false;
    } while (take(','));
    return take(close);
  }

  bool at_end();

 private:
  void skip_space();
  bool lengthen();

  std::string_view rest_;
  More more_;
};

}  // namespace rdmameter
