// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.h"

#include <fmt/format.h>

namespace rdmameter {
namespace {

constexpr std::size_t kMaxExcerptBytes = 200;
constexpr std::uint32_t kReplacement = 0xFFFD;

bool is_continuation(char c) noexcept {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

bool is_harmful(std::uint32_t point) noexcept {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x061C || point == 0x200E ||
         point == 0x200F || (point >= 0x2028 && point <= 0x202E) ||
         (point >= 0x2066 && point <= 0x2069) || point == kMalformed;
}

/// Overlong forms, surrogates, and what lies beyond Unicode (RFC 3629).
bool is_misencoded(std::uint32_t point, std::size_t bytes) noexcept {
  const std::uint32_t min = bytes == 2 ? 0x80 : bytes == 3 ? 0x800 : 0x10000;
  return point < min || point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF);
}

std::string with_question_marks(std::string_view text, bool keep_newlines) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = code_point_at(text, at);
    const bool bad = (is_harmful(point) && !(keep_newlines && point == '\n')) ||
                     point == kReplacement;  // stands for what was malformed
    result += bad ? std::string_view("?") : text.substr(at, bytes);
    at += bytes;
  }
  return result;
}

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t at) noexcept {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + bytes > text.size()) return {kMalformed, 1};
  std::uint32_t point = lead & (0x7FU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if (!is_continuation(text[at + i])) return {kMalformed, 1};
    point = (point << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  }
  if (is_misencoded(point, bytes)) return {kMalformed, 1};
  return {point, bytes};
}

bool is_printable(std::string_view text) noexcept {
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = code_point_at(text, at);
    if (is_harmful(point)) return false;
    at += bytes;
  }
  return true;
}

bool is_word_character(char c, std::string_view others) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         others.find(c) != others.npos;
}

std::string printable(std::string_view text) {
  return with_question_marks(text, false);
}

std::string printable_lines(std::string_view text) {
  return with_question_marks(text, true);
}

std::string_view beginning(std::string_view text, std::size_t max_bytes) noexcept {
  if (text.size() <= max_bytes) return text;
  constexpr std::size_t kMaxContinuations = 3;  // more belong to no character
  std::size_t end = max_bytes;
  for (std::size_t i = 0; i < kMaxContinuations && end > 0 && is_continuation(text[end]); ++i)
    --end;
  return text.substr(0, is_continuation(text[end]) ? max_bytes : end);
}

std::string excerpt(std::string_view text) {
  const std::string_view kept = beginning(text, kMaxExcerptBytes);
  return printable(kept) + (kept.size() < text.size() ? "..." : "");
}

std::string escaped_line(std::string_view text, std::size_t max_bytes) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = code_point_at(text, at);
    std::string escape;
    if (point == '\\')
      escape = "\\\\";
    else if (point == kMalformed || (is_harmful(point) && point < 0x80))
      escape = fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
    else if (is_harmful(point))
      escape = fmt::format("\\u{{{:x}}}", point);
    const std::string_view piece = escape.empty() ? text.substr(at, bytes) : escape;
    if (result.size() + piece.size() > max_bytes)
      return result + fmt::format(" [cut, {} bytes]", text.size());
    result += piece;
    at += bytes;
  }
  return result;
}

}  // namespace rdmameter
