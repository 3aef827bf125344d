// SPDX-License-Identifier: Apache-2.0
#include "reports/html/html_table.h"

#include <fmt/core.h>

#include "reports/html/escape.h"
#include "reports/text.h"

namespace rdmameter {

HtmlTable::HtmlTable(std::string_view caption) : caption_(markup_text(caption)) {}

void HtmlTable::head(std::string_view name, std::string_view unit, std::string_view kind) {
  heads_ += fmt::format("<th class={} scope=col>{}", kind, markup_text(name));
  if (!unit.empty()) heads_ += fmt::format(" <small>{}</small>", markup_text(unit));
}

void HtmlTable::line() {
  lines_ += "\n<tr>";
  has_lines_ = true;
}

void HtmlTable::cell(std::string_view text, std::string_view mark) {
  lines_ += mark.empty() ? "<td>" : fmt::format("<td class={}>", mark);
  lines_ += markup_text(text);
}

void HtmlTable::number(std::string_view text, std::string_view note) {
  lines_ += "<td class=number>" + markup_text(text);
  if (!note.empty()) lines_ += fmt::format(" <small>{}</small>", markup_text(note));
}

void HtmlTable::markup(std::string_view html) {
  lines_.append("<td>").append(html);
}

std::string HtmlTable::html() const {
  return fmt::format(
      "<div class=scroll><table><caption>{}</caption>\n<thead><tr>{}</thead>\n<tbody>{}\n"
      "</tbody></table></div>\n",
      caption_, heads_, lines_);
}

}  // namespace rdmameter
