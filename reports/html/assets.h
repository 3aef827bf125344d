// SPDX-License-Identifier: Apache-2.0
// The page's files, which embed.py puts into the program.
#pragma once

#include <string_view>

namespace rdmameter {

/// The text of a file of reports/html/ by its name, or of "echarts.js"; empty: the build has no
/// such file.
std::string_view asset(std::string_view name);

}  // namespace rdmameter
