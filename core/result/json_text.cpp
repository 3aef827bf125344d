// SPDX-License-Identifier: Apache-2.0
#include "core/result/json_text.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

#include "core/base/printable.h"

namespace rdmameter {

std::string json_text(const Json& json, int indent) {
  // It escapes those of ASCII itself, but for DEL.
  const std::string text = json.dump(indent, ' ', false, Json::error_handler_t::replace);
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, bytes] = code_point_at(text, at);
    const std::string_view character = std::string_view(text).substr(at, bytes);
    if (point >= 0x7F && !is_printable(character))
      result += fmt::format("\\u{:04x}", point);  // none of these is beyond U+FFFF
    else
      result += character;
    at += bytes;
  }
  return result;
}

Json count_to_json(std::uint64_t count) {
  return count < kMaxExactCount ? Json(count) : Json(std::to_string(count));
}

Json number_to_json(double value) {
  const bool whole = value >= 0 && value < kMaxExactCount && value == std::floor(value);
  return whole ? Json(static_cast<std::uint64_t>(value)) : Json(value);
}

double finite_or_zero(double value) {
  return std::isfinite(value) ? value : 0.0;
}

namespace {

constexpr std::string_view kWhiteSpace = " \t\r\n";

enum class Mark : unsigned char { none, quote, opening, closing };

constexpr std::array<Mark, 256> marks() {
  std::array<Mark, 256> marks{};
  marks['"'] = Mark::quote;
  marks['{'] = marks['['] = Mark::opening;
  marks['}'] = marks[']'] = Mark::closing;
  return marks;
}
constexpr std::array<Mark, 256> kMarks = marks();

constexpr std::size_t kWord = sizeof(std::uint64_t);
constexpr std::uint64_t kEach = 0x0101010101010101;  ///< times a byte: a word of them

/// The first byte is the lowest.
std::uint64_t word_at(const char* at) {
  std::uint64_t word;
  std::memcpy(&word, at, kWord);
  return std::endian::native == std::endian::big ? __builtin_bswap64(word) : word;
}

/// Sets a bit of each byte with this value, and perhaps of bytes above the lowest of these.
std::uint64_t bytes_like(std::uint64_t word, char c) {
  const std::uint64_t differing = word ^ (kEach * static_cast<unsigned char>(c));
  return (differing - kEach) & ~differing & (kEach * 128);
}

/// Where quotes and brackets may be: most of a row is digits and commas, which lie below 64, as
/// of the marks only the quote does.
std::uint64_t may_be_marks(const char* at) {
  const std::uint64_t word = word_at(at);
  return (word & (kEach * 64)) | bytes_like(word, '"');
}

std::uint64_t may_end_string(const char* at) {
  const std::uint64_t word = word_at(at);
  return bytes_like(word, '"') | bytes_like(word, '\\');
}

/// Goes on to the first byte that `search` finds, or near the end of the text.
template <std::uint64_t (*search)(const char*)>
std::size_t skip(std::string_view json, std::size_t at) {
  for (; json.size() - at > kWord; at += kWord)
    if (const std::uint64_t found = search(json.data() + at); found != 0)
      return at + static_cast<std::size_t>(std::countr_zero(found)) / 8;
  return at;
}

/// npos: it may go on behind the text.
std::size_t end_of_value(std::string_view json) {
  if (json.empty()) return json.npos;
  const Mark mark = kMarks[static_cast<unsigned char>(json.front())];
  if (mark == Mark::quote) return end_of_string(json, 0);
  if (mark == Mark::opening) return end_of_nested(json, 0);
  return json.find_first_of(",:]} \t\r\n");
}

}  // namespace

std::size_t end_of_string(std::string_view json, std::size_t at) {
  for (++at; at < json.size(); ++at) {
    at = skip<may_end_string>(json, at);
    if (json[at] == '"') return at + 1;
    if (json[at] == '\\') ++at;  // and what it escapes
  }
  return json.npos;
}

std::size_t end_of_nested(std::string_view json, std::size_t at) {
  std::size_t depth = 0;
  for (; at < json.size(); ++at) {
    at = skip<may_be_marks>(json, at);
    const Mark mark = kMarks[static_cast<unsigned char>(json[at])];
    if (mark == Mark::none) continue;  // nearly always
    if (mark == Mark::quote) {
      const std::size_t end = end_of_string(json, at);
      if (end == json.npos) return end;
      at = end - 1;
    } else if (mark == Mark::opening) {
      if (++depth > kMaxJsonDepth) return json.npos;
    } else if (--depth == 0) {
      return at + 1;
    }
  }
  return json.npos;
}

bool JsonParts::take(char c) {
  skip_space();
  if (!rest_.starts_with(c)) return false;
  rest_.remove_prefix(1);
  return true;
}

std::string_view JsonParts::value() {
  skip_space();
  std::size_t end = end_of_value(rest_);
  while (end == rest_.npos && lengthen()) end = end_of_value(rest_);
  const bool scalar =
      !rest_.empty() && kMarks[static_cast<unsigned char>(rest_.front())] == Mark::none;
  if (end == rest_.npos) end = scalar ? rest_.size() : 0;  // what the text ends in
  const std::string_view found = rest_.substr(0, end);
  rest_.remove_prefix(end);
  return found;
}

bool JsonParts::at_end() {
  skip_space();
  return rest_.empty();
}

void JsonParts::skip_space() {
  do {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kWhiteSpace), rest_.size()));
  } while (rest_.empty() && lengthen());
}

bool JsonParts::lengthen() {
  if (!more_) return false;
  const std::size_t before = rest_.size();
  rest_ = more_(rest_);
  return rest_.size() > before;
}

}  // namespace rdmameter
