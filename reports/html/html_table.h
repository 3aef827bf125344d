// SPDX-License-Identifier: Apache-2.0
// A table of a page. tables.js makes its heads sort the lines.
#pragma once

#include <string>
#include <string_view>

#include "reports/text/table.h"

namespace rdmameter {

/// Empty: the table has no line. @param caption  text; what the table is about
std::string html_table(const Table& table, std::string_view caption);

}  // namespace rdmameter
