// SPDX-License-Identifier: Apache-2.0
// A table of a page. tables.js makes its heads sort the lines.
#pragma once

#include <string>
#include <string_view>

#include "reports/summary/facts.h"
#include "reports/text/table.h"

namespace rdmameter {

/// Empty: the table has no line. @param caption  text; empty: the table's title
std::string html_table(const Table& table, std::string caption = "");

// ---- Text that may stand in a page, whatever a result's author put into it.

/// A paragraph beneath a table or a picture. Empty: the text is.
std::string note_html(const std::string& text, std::string_view css_class = "note");

/// JSON for a <script> element: pure ASCII, without any of < > &, so that nothing in it ends the
/// element or begins a comment.
std::string script_json(const Json& json);

/// A text for a URL's fragment: percent-encoded but for what stands there as it is (RFC
/// 3986: "/", ":"...).
std::string fragment_text(std::string_view text);

}  // namespace rdmameter
