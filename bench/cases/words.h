// SPDX-License-Identifier: Apache-2.0
// Words as people type them: a text's, as a shell would take them apart, and what was meant.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rdmameter {

// "Did you mean ...?"

/// The known word that `typed` is most likely meant to be, by edits (a letter added, left out,
/// changed, or two neighbours swapped); empty: none is within half of its letters.
std::string_view nearest(std::string_view typed, std::span<const std::string_view> known);

/// "; did you mean 'send_lat'?", or nothing.
std::string did_you_mean(std::string_view typed, std::span<const std::string_view> known,
                         std::string_view prefix = "");

// A text's words, as a shell would take them apart.

struct ShellWord {
  std::size_t begin, end;  ///< where it stands in the text, quotes included
  std::string text;        ///< without its quotes and backslashes
  char open_quote = '\0';  ///< of the last word: the quote that is never closed
};

/// Words are separated by blanks; quotes and backslashes keep what they guard, and nothing
/// else is special.
std::vector<ShellWord> split_words(std::string_view text);

}  // namespace rdmameter
