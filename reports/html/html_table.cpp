// SPDX-License-Identifier: Apache-2.0
#include "reports/html/html_table.h"

#include <fmt/core.h>

#include "reports/text/text.h"

namespace rdmameter {
namespace {

std::string small_text(const std::string& text) {
  return text.empty() ? "" : fmt::format(" <small>{}</small>", markup_text(text));
}

/// "KiB of a rank"
std::string beside_head(const Table::Column& column) {
  const bool both = !column.unit.empty() && !column.qualifier.empty();
  return column.unit + (both ? " " : "") + column.qualifier;
}

std::string note_of(const Table& table, const Table::Cell& cell) {
  const bool is_signed = !table.note_sign.empty();
  if (cell.note.empty() || (is_signed && cell.text == kUnknown)) return "";
  return (is_signed ? table.note_sign + " " : "") + cell.note;
}

std::string html_cell(const Table& table, const Table::Cell& cell, bool is_text) {
  constexpr std::size_t kLong = 40;  // words that would else be a narrow column of them
  const bool is_long = is_text && !cell.is_markup && text_width(cell.text) > kLong;
  const std::string_view plain = is_text ? (is_long ? "long" : "") : "number";
  const std::string_view css_class = cell.mark.empty() ? plain : cell.mark;
  return fmt::format("<td{}{}>{}{}", css_class.empty() ? "" : " class=", css_class,
                     cell.is_markup ? cell.text : markup_text(cell.text),
                     small_text(note_of(table, cell)));
}

}  // namespace

std::string html_table(const Table& table, std::string caption) {
  if (table.lines() == 0) return "";
  if (caption.empty()) caption = table.title;
  if (!caption.empty()) caption.front() = upper_case(caption.substr(0, 1)).front();
  std::string heads, lines;
  for (const Table::Column& column : table.columns)
    heads += fmt::format("<th class={} scope=col>{}{}", column.is_text ? "text" : "number",
                         markup_text(column.head), small_text(beside_head(column)));
  for (std::size_t i = 0; i < table.lines(); ++i) {
    lines += "\n<tr>";
    for (const Table::Column& column : table.columns)
      lines += html_cell(table, column.cells[i], column.is_text);
  }
  return fmt::format(
      "<div class=scroll><table><caption>{}</caption>\n<thead><tr>{}</thead>\n<tbody>{}\n"
      "</tbody></table></div>\n",
      markup_text(caption), heads, lines);
}

std::string note_html(const std::string& text, std::string_view css_class) {
  return text.empty() ? "" : fmt::format("<p class={}>{}</p>\n", css_class, markup_text(text));
}

std::string script_json(const Json& json) {
  std::string text;
  for (const char c : json.dump(-1, ' ', true, Json::error_handler_t::replace))
    if (c == '<' || c == '>' || c == '&')  // of JSON only strings hold them, which know \u
      text += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      text += c;
  return text;
}

std::string fragment_text(std::string_view text) {
  std::string result;
  for (const char c : text)
    if (is_word_character(c, "/:.,_-~*()!"))
      result += c;
    else
      result += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  return result;
}

}  // namespace rdmameter
