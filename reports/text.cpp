// SPDX-License-Identifier: Apache-2.0
#include "reports/text.h"

#include <fmt/core.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <utility>

namespace rdmameter {
namespace {

constexpr std::size_t kLeastWidth = 40, kMostWidth = 400;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::size_t terminal_width() {
  const std::string_view columns = variable("COLUMNS");
  std::size_t width = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  winsize size{};
  if (width == 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width == 0 ? 80 : std::clamp(width, kLeastWidth, kMostWidth);
}

/// As setlocale() would choose, without changing the process's locale.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string value(variable(name));
    if (value.empty()) continue;
    std::transform(value.begin(), value.end(), value.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return value.find("utf-8") != value.npos || value.find("utf8") != value.npos;
  }
  return false;
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

/// The code point that starts at text[at], with its length. Malformed: the byte, as U+FFFD.
std::pair<std::uint32_t, std::size_t> code_point(std::string_view text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return {lead, 1};
  const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || at + length > text.size()) return {0xFFFD, 1};
  std::uint32_t point = lead & (0x7FU >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[at + i])) return {0xFFFD, 1};
    point = (point << 6) | (static_cast<unsigned char>(text[at + i]) & 0x3FU);
  }
  return {point, length};
}

/// C0, DEL, C1, and the marks and overrides of writing direction.
bool harmful(std::uint32_t point) {
  return point < 0x20 || (point >= 0x7F && point < 0xA0) || point == 0x200E || point == 0x200F ||
         (point >= 0x2028 && point <= 0x202E) || (point >= 0x2066 && point <= 0x2069) ||
         point == 0xFFFD;
}

char ascii_for(std::uint32_t point) {
  if (point < 0x80) return static_cast<char>(point);
  if (point >= 0x2581 && point <= 0x2588) return "...:::##"[point - 0x2581];  // eighths of a block
  switch (point) {
    case 0xB5:  // micro
      return 'u';
    case 0xB1:  // plus-minus
      return '~';
    case 0xD7:  // times
      return 'x';
    case 0x2013:  // en dash: no value
    case 0x2500:  // horizontal line
      return '-';
    case 0x2502:  // vertical line
    case 0x2524:  // vertical line with a label
      return '|';
    case 0x2514:  // corner
    case 0x252C:  // tick
      return '+';
    case 0x2591:  // shades
      return '.';
    case 0x2592:
      return ':';
    case 0x2593:
      return 'o';
    case 0x25B2:  // triangle
      return '^';
    default:
      return '?';
  }
}

std::string escaped(std::string_view text, int code, const TextStyle& style) {
  return style.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace

TextStyle terminal_style() {
  return {.width = terminal_width(),
          .utf8 = locale_is_utf8(),
          .color = isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty()};
}

std::string printable(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, length] = code_point(text, at);
    result += harmful(point) ? std::string_view("?") : text.substr(at, length);
    at += length;
  }
  return result;
}

std::size_t text_width(std::string_view text) {
  return text.size() -
         static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_continuation));
}

std::string pad_left(std::string_view text, std::size_t width) {
  const std::size_t own = text_width(text);
  return std::string(own < width ? width - own : 0, ' ').append(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  const std::size_t own = text_width(text);
  return std::string(text).append(own < width ? width - own : 0, ' ');
}

std::string wrap(std::string_view first, std::string_view text, std::size_t width) {
  const std::size_t indent = text_width(first);
  std::string result(first);
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (word.empty()) continue;
    const std::size_t own = text_width(word);
    if (column > indent && column + 1 + own > width) {
      result.append("\n").append(indent, ' ');
      column = indent;
    }
    if (column > indent) {
      result += ' ';
      ++column;
    }
    result += word;
    column += own;
  }
  return result + "\n";
}

std::string to_ascii(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, length] = code_point(text, at);
    result += ascii_for(point);
    at += length;
  }
  return result;
}

std::string bold(std::string_view text, const TextStyle& style) {
  return escaped(text, 1, style);
}

std::string dim(std::string_view text, const TextStyle& style) {
  return escaped(text, 2, style);
}

std::string markup_text(std::string_view text) {
  std::string made;
  for (const char c : printable(text)) switch (c) {
      case '&':
        made += "&amp;";
        break;
      case '<':
        made += "&lt;";
        break;
      case '>':
        made += "&gt;";
        break;
      case '"':
        made += "&quot;";
        break;
      case '\'':
        made += "&#39;";
        break;
      default:
        made += c;
    }
  return made;
}

}  // namespace rdmameter
