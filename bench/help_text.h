// SPDX-License-Identifier: Apache-2.0
// How --help looks on a terminal 80 columns wide.
#pragma once

#include <string>
#include <string_view>

namespace rdmameter {

/// Where the descriptions of options begin.
inline constexpr std::size_t kHelpColumn = 30;

/// The description of an option, its lines broken at spaces; CLI11 indents them.
std::string help_text(std::string_view description);

}  // namespace rdmameter
