// SPDX-License-Identifier: Apache-2.0
// Lines that a terminal does not break within words.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rdmameter {

/// Of the terminal on stderr [columns]; 80 where it does not say.
std::size_t stderr_width();

/// Lines for stderr: at a terminal broken at blanks where they are too wide, else as they are, so
/// that a message is one line of a log.
std::string for_stderr(const std::string& text);
/// The same for stdout.
std::string for_stdout(const std::string& text);

/// As for_stderr() at a terminal of this width. What goes on below is indented by "rdmameter: ", by
/// the line's own indentation, or by a first column.
std::string broken_lines(std::string_view text, std::size_t width);

}  // namespace rdmameter
