// SPDX-License-Identifier: Apache-2.0
// What the program says to people on stderr. Telling cannot fail: where stderr is closed, full or
// without a reader, the text is lost and nothing else changes, no exit status either. So it is the
// only way in which the program writes to stderr (tests/style/architecture_test.py).
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace rdmameter {

/// Writes the text as it is. Waits while a pipe or a terminal takes nothing, as any program does,
/// until everything must end;
/// a server must not wait, and has a TellSink.
void tell_text(std::string_view text) noexcept;

template <class... Values>
void tell(fmt::format_string<Values...> format, Values&&... values) noexcept {
  try {
    tell_text(fmt::format(format, std::forward<Values>(values)...));
  } catch (...) {  // no memory for it
  }
}

/// While it lives, what is told goes to it instead of to stderr. One at a time; all threads that
/// may tell something begin after it and end before it.
class TellSink {
 public:
  virtual void told(std::string_view text) noexcept = 0;
  TellSink(TellSink&&) = delete;

 protected:
  TellSink() = default;
  ~TellSink() = default;
  void take_over() noexcept;
  void give_back() noexcept;
};

}  // namespace rdmameter
