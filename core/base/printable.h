// SPDX-License-Identifier: Apache-2.0
// Text of foreign origin (a peer, a file), made harmless for the people who read it. Harmful are:
// control characters (C0, DEL, C1), marks and overrides of writing direction, line and paragraph
// separators, and what is not UTF-8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rdmameter {

inline constexpr std::uint32_t kMalformed = 0xFFFFFFFF;

struct CodePoint {
  std::uint32_t point;  ///< kMalformed: no UTF-8 begins here
  std::size_t bytes;    ///< that it takes; 1 where it is malformed
};

/// @param at  below text.size()
CodePoint code_point_at(std::string_view text, std::size_t at) noexcept;

/// Is nothing in it harmful?
bool is_printable(std::string_view text) noexcept;

/// Is it a letter or digit (of ASCII), or one of these?
bool is_word_character(char c, std::string_view others) noexcept;

/// One line, as wide as the text: each harmful character becomes '?'.
std::string printable(std::string_view text);

/// Makes text of several lines printable: newlines stay.
std::string printable_lines(std::string_view text);

/// The beginning of `text`, at most so many bytes, that does not end inside a character.
std::string_view beginning(std::string_view text, std::size_t max_bytes) noexcept;

/// How an error quotes text of unknown origin: printable, and its first 200 bytes
/// alone, then "...".
std::string excerpt(std::string_view text);

/// One line for a log, from which the bytes can be told: each harmful byte below 0x80 and each
/// malformed one becomes `\xNN`, other harmful characters `\u{...}`, a backslash two. Longer lines
/// end in " [cut, N bytes]", N being the length of `text`; never inside a character or an escape.
/// @param max_bytes  of the result without that mark
std::string escaped_line(std::string_view text, std::size_t max_bytes);

}  // namespace rdmameter
