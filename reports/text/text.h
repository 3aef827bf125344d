// SPDX-License-Identifier: Apache-2.0
// Text for a terminal: what may be printed, how wide it is, how it wraps.
#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/printable.h"  // text from a file is printed as printable() has it
#include "core/log/print.h"

namespace rdmameter {

struct TextStyle {
  std::size_t width = 80;  ///< columns
  bool utf8 = true;        ///< else ASCII only
  bool color = false;      ///< bold and dim by escape sequences
  bool narrow = false;  ///< no line is wider: COLUMNS or a terminal tells the width; not in a log
};

/// What a reader asks of results at a terminal.
struct ShowOptions {
  bool csv = false;
  bool tidy = false;         ///< of the CSV: a column for each axis
  bool all = false;          ///< settings at their defaults, all facts of both ends, too
  bool percentiles = false;  ///< a table of them for every latency case
  bool loss = false;         ///< stalls of every latency case, by their cause
  /// Nothing: where the file has few latency cases, and of topologies a matrix for each shape.
  std::optional<bool> histogram;
  std::vector<std::uint64_t> predict;  ///< topologies: numbers of ranks to predict for
  std::optional<std::uint64_t> memory_budget_bytes = {};  ///< topologies: of a rank
  bool judge_shared = false;  ///< topologies: name slow ranks where ranks shared cores, too
  TextStyle style = {};       ///< the program gives terminal_style()
};

/// The style of stdout: the width from COLUMNS, else of the terminal, else 80; UTF-8 where the
/// locale's variables say so; color at a terminal without NO_COLOR.
TextStyle terminal_style();

/// A text for element contents and quoted attributes of HTML and XML: printable(), markup escaped.
std::string markup_text(std::string_view text);

/// A text for a cell or a line of Markdown: printable(), no HTML, no markup, no new cell.
std::string markdown_text(std::string_view text);

/// Columns that UTF-8 text takes, one for each code point.
std::size_t text_width(std::string_view text);

std::string pad_left(std::string_view text, std::size_t width);
std::string pad_right(std::string_view text, std::size_t width);

/// The lines of a text, without their ends.
std::vector<std::string_view> text_lines(std::string_view text);

/// Breaks at spaces so that lines fit; a longer word has a line of its own.
/// @param first   begins the first line; the others are indented by its width
/// @param breaks  characters after which a word that is longer than a line may be broken
std::string wrap(std::string_view first, std::string_view text, std::size_t width,
                 std::string_view breaks = "");

/// Wraps a shell's command: a line that goes on ends with a backslash, so that it can be copied.
std::string wrap_command(std::string_view first, std::string_view text, std::size_t width);

/// `breaks` for the names of cases: they are whole in a log, where people search for them.
inline std::string_view name_breaks(const TextStyle& style) {
  return style.narrow ? "/" : "";
}

/// Each character that reports print beyond ASCII gives way to one of ASCII, so
/// columns stay aligned.
std::string to_ascii(std::string_view text);

/// "1 case", "2 cases"
std::string count_text(std::uint64_t count, std::string_view thing);

/// Adds to a list in words: "a", then "a, b".
void add_item(std::string& list, std::string_view item, std::string_view separator = ", ");

/// Makes blanks of underscores.
std::string with_spaces(std::string name);

/// Makes ASCII letters upper case.
std::string upper_case(std::string text);

std::string bold(std::string_view text, const TextStyle& style);
std::string dim(std::string_view text, const TextStyle& style);

/// A text beneath an empty line and its title. Empty: the text is.
std::string chapter(std::string_view title, const std::string& text, const TextStyle& style);

/// Lines beneath a table, dim and indented. Empty: the text is.
std::string note_text(std::string_view text, const TextStyle& style);

// ---- Names of cases where they stand together: what all of them have is told once, beside them.

/// "axis:value" parts that all names have ("write_lat/rc/size:64" has one), in their order. Of a
/// single name: none, as nothing stands beside it.
std::vector<std::string> common_parts(std::span<const std::string> names);

/// So many of the first ones, printable, and how many more there are.
std::string first_names(std::span<const std::string> names, std::size_t most);

/// The name without these parts.
std::string shorten_name(const std::string& name, std::span<const std::string> parts);

/// Is it that name, or does it match that glob?
bool matches_name(const std::string& name, const std::string& pattern);
/// One of these? Any name where there is none.
bool is_chosen(const std::string& name, std::span<const std::string> patterns);

/// A name in lines that fit, broken after a slash where it is too long for one; ends in '\n'.
std::string name_lines(const std::string& name, std::size_t width);

// ---- Lines that are no wider than COLUMNS or, without it, than the terminal: what the program says
// by itself; tables and curves have a TextStyle. In a locale that is not UTF-8 they are ASCII.

/// The width of stderr [columns]; 80 where neither COLUMNS nor a terminal gives one.
std::size_t stderr_width();

/// Lines for stderr: broken at blanks where they are too wide, or as they are where neither COLUMNS
/// nor a terminal says how wide they may be, so that a message is one line of a log.
std::string for_stderr(const std::string& text);
/// Lines for stdout, likewise.
std::string for_stdout(const std::string& text);

/// tell() and print() of such lines.
template <class... Values>
void tell_lines(fmt::format_string<Values...> format, Values&&... values) {
  tell_text(for_stderr(fmt::format(format, std::forward<Values>(values)...)));
}
template <class... Values>
void print_lines(fmt::format_string<Values...> format, Values&&... values) {
  print_text(for_stdout(fmt::format(format, std::forward<Values>(values)...)));
}

/// Breaks lines as for_stderr() does, in `width` columns. What goes on below is indented by
/// "rdmameter: ", by the line's own indentation, or by a first column; an indented command of ours
/// can still be copied.
std::string broken_lines(std::string_view text, std::size_t width);

}  // namespace rdmameter
