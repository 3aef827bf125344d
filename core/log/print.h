// SPDX-License-Identifier: Apache-2.0
// What the program prints on stdout. Printing does not fail where it is done: a reader that has
// gone (`| head`) or a full disk must end no measurement, and keep no other output from being
// written. main() asks at the end what became of it. It is the only way in which the program writes
// text to stdout (tests/style/architecture_test.py).
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace rdmameter {

/// After the first failure: does nothing.
void print_text(std::string_view text) noexcept;

template <class... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
  print_text(fmt::format(format, std::forward<Values>(values)...));
}

/// Hands on what was printed: a line appears when it is printed, through a pipe too.
/// @return  has all arrived that was printed so far?
bool flush_print() noexcept;

/// Why something did not arrive [errno value]; 0: all has. EPIPE: its reader has
/// gone. EINTR: the program must end, and the stream is not read.
int print_error() noexcept;

}  // namespace rdmameter
