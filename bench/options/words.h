// SPDX-License-Identifier: Apache-2.0
// A text's words, as a shell would take them apart.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace rdmameter {

struct ShellWord {
  std::size_t begin, end;  ///< where it stands in the text, quotes included
  std::string text;        ///< without its quotes and backslashes
  char open_quote = '\0';  ///< of the last word: the quote that is never closed
};

/// Words are separated by blanks; quotes and backslashes keep what they guard, and nothing
/// else is special.
std::vector<ShellWord> split_words(std::string_view text);

}  // namespace rdmameter
