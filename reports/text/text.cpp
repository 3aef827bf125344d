// SPDX-License-Identifier: Apache-2.0
#include "reports/text/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <iterator>
#include <utility>

#include "core/base/parse_value.h"

namespace rdmameter {
namespace {

constexpr std::size_t kMinWidth = 40, kMaxWidth = 400;

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

/// As setlocale() would choose, without changing the process's locale.
bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string value = upper_case(std::string(variable(name)));
    if (value.empty()) continue;
    return value.find("UTF-8") != value.npos || value.find("UTF8") != value.npos;
  }
  return false;
}

bool is_continuation(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
}

char ascii_for(std::uint32_t point) {
  if (point < 0x80) return static_cast<char>(point);
  if (point >= 0x2581 && point <= 0x2588) return "...:::##"[point - 0x2581];  // eighths of a block
  constexpr std::pair<char32_t, char> kOthers[] = {
      {U'µ', 'u'}, {U'±', '~'}, {U'×', 'x'}, {U'–', '-'}, {U'─', '-'}, {U'│', '|'}, {U'┤', '|'},
      {U'└', '+'}, {U'┬', '+'}, {U'░', '.'}, {U'▒', ':'}, {U'▓', 'o'}, {U'▲', '^'}};
  const auto found = std::ranges::find(kOthers, point, &std::pair<char32_t, char>::first);
  return found == std::end(kOthers) ? '?' : found->second;
}

/// What stands for a character in HTML and XML; empty: itself.
std::string_view entity_of(char c) {
  constexpr std::pair<char, std::string_view> kEntities[] = {
      {'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}};
  const auto found = std::ranges::find(kEntities, c, &std::pair<char, std::string_view>::first);
  return found == std::end(kEntities) ? "" : found->second;
}

std::string escaped(std::string_view text, int code, const TextStyle& style) {
  return style.color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

/// The width from COLUMNS, else of the terminal at this file descriptor; 0: neither gives one. The
/// terminal that mpirun gives to a rank has a width only where mpirun writes to one that has.
std::size_t told_columns(int descriptor) {
  const std::string_view text = variable("COLUMNS");
  std::size_t width = 0;
  std::from_chars(text.data(), text.data() + text.size(), width);
  winsize size{};
  if (width == 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width;
}

}  // namespace

TextStyle terminal_style() {
  const std::size_t known = told_columns(STDOUT_FILENO);
  return {.width = known == 0 ? 80 : std::clamp(known, kMinWidth, kMaxWidth),
          .utf8 = locale_is_utf8(),
          .color = isatty(STDOUT_FILENO) == 1 && variable("NO_COLOR").empty(),
          .narrow = known != 0};
}

std::size_t text_width(std::string_view text) {
  return text.size() - static_cast<std::size_t>(std::ranges::count_if(text, is_continuation));
}

std::string pad_left(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, text_width(text)), ' ').append(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
  return std::string(text).append(width - std::min(width, text_width(text)), ' ');
}

namespace {

/// How much of `text`, from its start, is one word of a line; of a word that is wider than `room`,
/// as much as fits and ends in one of `breaks`, if there is such a part.
std::size_t word_end(std::string_view text, std::size_t room, std::string_view breaks) {
  const std::size_t end = std::min(text.find(' '), text.size());
  if (text_width(text.substr(0, end)) <= room) return end;
  std::size_t part = end;
  for (std::size_t at = text.find_first_of(breaks); at < end;
       at = text.find_first_of(breaks, at + 1)) {
    if (part != end && text_width(text.substr(0, at + 1)) > room) break;
    part = at + 1;
  }
  return part;
}

}  // namespace

std::string wrap(std::string_view first, std::string_view text, std::size_t width,
                 std::string_view breaks) {
  const std::size_t indent = text_width(first);
  std::string result(first);
  std::size_t column = indent;
  while (!text.empty()) {
    const std::string_view word =
        text.substr(0, word_end(text, width > indent ? width - indent : 0, breaks));
    text.remove_prefix(word.size());
    const bool broken = !text.empty() && text.front() != ' ';
    if (!broken && !text.empty()) text.remove_prefix(1);
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
    column = broken ? std::max(width, indent + 1) : column + own;
  }
  return result + "\n";
}

std::string wrap_command(std::string_view first, std::string_view text, std::size_t width) {
  constexpr std::size_t kBackslash = 2;
  std::string lines = wrap(first, text, std::max(width, kBackslash) - kBackslash);
  for (std::size_t at = lines.find('\n'); at + 1 < lines.size(); at = lines.find('\n', at + 3))
    lines.insert(at, " \\");
  return lines;
}

std::string to_ascii(std::string_view text) {
  std::string result;
  for (std::size_t at = 0; at < text.size();) {
    const auto [point, length] = code_point_at(text, at);
    result += ascii_for(point);
    at += length;
  }
  return result;
}

std::string count_text(std::uint64_t count, std::string_view thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

std::vector<std::string_view> text_lines(std::string_view text) {
  std::vector<std::string_view> lines = split(text, "\n");
  if (lines.back().empty()) lines.pop_back();
  return lines;
}

void add_item(std::string& list, std::string_view item, std::string_view separator) {
  if (!list.empty()) list += separator;
  list += item;
}

std::string with_spaces(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string upper_case(std::string text) {
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return text;
}

std::string bold(std::string_view text, const TextStyle& style) {
  return escaped(text, 1, style);
}

std::string dim(std::string_view text, const TextStyle& style) {
  return escaped(text, 2, style);
}

std::string chapter(std::string_view title, const std::string& text, const TextStyle& style) {
  return text.empty() ? "" : "\n" + bold(title, style) + "\n" + text;
}

std::string note_text(std::string_view text, const TextStyle& style) {
  return text.empty() ? "" : dim(wrap("  ", text, style.width), style);
}

std::string markup_text(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    const std::string_view entity = entity_of(c);
    result += entity.empty() ? std::string_view(&c, 1) : entity;
  }
  return result;
}

std::string markdown_text(std::string_view text) {
  std::string result;
  for (const char c : printable(text)) {
    if (c == '<' || c == '>' || c == '&') {
      result += entity_of(c);
      continue;
    }
    if (std::string_view("\\`*_[]|~#!").find(c) != std::string_view::npos) result += '\\';
    result += c;
  }
  return result;
}

std::vector<std::string> common_parts(std::span<const std::string> names) {
  if (names.size() < 2) return {};
  const auto first = split(names.front(), "/");
  std::vector<std::string> common(first.begin(), first.end());
  for (const std::string& name : names) {
    const auto parts = split(name, "/");
    std::erase_if(common, [&](const std::string& part) {
      return part.find(':') == part.npos || std::ranges::count(parts, part) == 0;
    });
  }
  return common;
}

std::string first_names(std::span<const std::string> names, std::size_t most) {
  std::string text;
  for (const std::string& name : names.first(std::min(names.size(), most)))
    add_item(text, printable(name));
  if (names.size() > most) text += fmt::format(" and {} more", names.size() - most);
  return text;
}

std::string shorten_name(const std::string& name, std::span<const std::string> parts) {
  auto own = split(name, "/");
  std::erase_if(own, [&](std::string_view part) { return std::ranges::count(parts, part) > 0; });
  return fmt::format("{}", fmt::join(own, "/"));
}

bool matches_name(const std::string& name, const std::string& pattern) {
  return name == pattern || fnmatch(pattern.c_str(), name.c_str(), 0) == 0;
}

bool is_chosen(const std::string& name, std::span<const std::string> patterns) {
  return patterns.empty() || std::ranges::any_of(patterns, [&](const std::string& pattern) {
           return matches_name(name, pattern);
         });
}

std::string name_lines(const std::string& name, std::size_t width) {
  constexpr std::string_view kIndent = "    ";
  std::string text, line;
  for (std::size_t begin = 0; begin < name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size() - 1) + 1;
    const std::string part = name.substr(begin, end - begin);
    if (text_width(line) > kIndent.size() && text_width(line) + text_width(part) > width) {
      text += line + "\n";
      line = kIndent;
    }
    line += part;
    begin = end;
  }
  return text + line + "\n";
}

namespace {

bool is_command(std::string_view line) {
  constexpr std::string_view kIndent = "  ";
  return line.starts_with(kIndent) && (line.substr(kIndent.size()).starts_with("rdmameter ") ||
                                       line.substr(kIndent.size()).starts_with("RDMAMETER_TOKEN="));
}

/// A line that is too wide.
std::string broken_line(std::string_view line, std::size_t width) {
  std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  if (is_command(line)) return wrap_command(line.substr(0, first), line.substr(first), width);
  // A column before the text keeps its place.
  if (const std::size_t gap = line.find("  ", first); gap != line.npos)
    if (const std::size_t column = line.find_first_not_of(' ', gap);
        column != line.npos && text_width(line.substr(0, column)) <= width / 2)
      first = column;
  for (const std::string_view who : {"rdmameter: ", "warning: ", "error: "})
    if (line.starts_with(who)) first = who.size();
  return wrap(line.substr(0, first), line.substr(first), width);
}

}  // namespace

std::size_t stderr_width() {
  const std::size_t told = told_columns(STDERR_FILENO);
  return told == 0 ? 80 : told;
}

std::string broken_lines(std::string_view text, std::size_t width) {
  std::string broken;
  for (const std::string_view line : text_lines(text))
    broken += text_width(line) <= width ? std::string(line) + "\n" : broken_line(line, width);
  return broken;
}

std::string for_stdout(const std::string& text) {
  const TextStyle style = terminal_style();
  const std::string readable = style.utf8 ? text : to_ascii(text);
  return style.narrow ? broken_lines(readable, style.width) : readable;
}

std::string for_stderr(const std::string& text) {
  const std::size_t width = told_columns(STDERR_FILENO);
  const std::string readable = terminal_style().utf8 ? text : to_ascii(text);
  return width == 0 ? readable : broken_lines(readable, width);
}

}  // namespace rdmameter
