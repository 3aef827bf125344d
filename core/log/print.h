// SPDX-License-Identifier: Apache-2.0
// What the program prints on stdout. Printing does not fail where it is done: a reader that has
// gone (`| head`) or a full disk must end no measurement, and keep no other output from being
// written. main() asks at the end what became of it. It is the only way in which the program writes
// text to stdout (tests/style/architecture_test.py).
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <string_view>
#include <utility>

namespace rdmameter {

// Writing to what may take nothing for ever (a pipe without a reader, a stopped terminal), and
// other waits of commands, so that SIGTERM and Ctrl-C end them. A session's waits
// are in core/wire/wait.h.

/// Waits of this process end when `file` becomes readable: that of the InterruptSource, which is
/// never drained. Without it they have no end. Called before there are threads.
void end_waits_with(int file) noexcept;

/// @return  must everything end? Then it returns at once
bool wait_or_end(std::chrono::milliseconds time) noexcept;

/// Once everything must end, a reader that is there still has this long for what is left.
inline constexpr std::chrono::milliseconds kLastWait{500};

/// Writes all of it where the stream stands, in parts that a pipe takes whole.
/// @return  0, the errno value, or EINTR: everything must end, and the stream takes nothing
int write_patiently(int file, std::string_view text) noexcept;

/// After the first failure: does nothing.
void print_text(std::string_view text) noexcept;

template <class... Values>
void print(fmt::format_string<Values...> format, Values&&... values) {
  print_text(fmt::format(format, std::forward<Values>(values)...));
}

/// Hands on what was printed: a line appears when it is printed, through a pipe too.
/// @return  has all arrived that was printed so far?
bool flush_print() noexcept;

/// Prints text and flushes. @return  as flush_print()
inline bool print_now(std::string_view text) noexcept {
  print_text(text);
  return flush_print();
}

/// Why something did not arrive [errno value]; 0: all has. EPIPE: its reader has
/// gone. EINTR: the program must end, and the stream is not read.
int print_error() noexcept;

// What the program says to people on stderr. Telling cannot fail: where stderr is closed, full or
// without a reader, the text is lost and nothing else changes, no exit status either. So it is the
// only way in which the program writes to stderr (tests/style/architecture_test.py).

/// Writes the text as it is. Waits while a pipe or a terminal takes nothing, as any program does,
/// until everything must end;
/// a server must not wait, and has a TellSink.
void tell_text(std::string_view text) noexcept;

/// Would tell_text() not wait? A stopped terminal (Ctrl-S) and a pipe that is full take nothing.
bool stderr_takes_text() noexcept;

template <class... Values>
void tell(fmt::format_string<Values...> format, Values&&... values) noexcept {
  try {
    tell_text(fmt::format(format, std::forward<Values>(values)...));
  } catch (...) {  // no memory for it
  }
}

/// Until give_back(), what is told goes to `told`, which does not throw, instead of to stderr. One
/// at a time; all threads that may tell something begin after it and end before it.
class TellSink {
 public:
  explicit TellSink(std::function<void(std::string_view text)> told);
  ~TellSink() { give_back(); }
  TellSink(TellSink&&) = delete;
  void give_back() noexcept;  ///< what is being told still uses `told`

  const std::function<void(std::string_view text)> told;
};

}  // namespace rdmameter
