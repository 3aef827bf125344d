// SPDX-License-Identifier: Apache-2.0
// The one place that gives a library's exceptions texts of ours, and a heap that is used up its own.
// Code that shows, logs or sends why something failed asks here, not
// what() (tests/style/json_access_test.py).
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <new>
#include <string>
#include <string_view>

namespace rdmameter {

// A heap that is used up (a limit of `ulimit -v`, a control group that does not
// overcommit), in words.

/// Who asks for memory in this process, for the text of OutOfMemory: "rdmameter report". Its first
/// 60 bytes count. Called before there are threads.
void set_memory_user(std::string_view who) noexcept;

/// What the program's operator new (bench/operator_new.cpp) throws. Its text takes no memory.
struct OutOfMemory : std::bad_alloc {
  explicit OutOfMemory(std::size_t bytes) noexcept;
  /// "out of memory: 512 MiB were asked for by rdmameter report"
  const char* what() const noexcept override { return text_.data(); }

 private:
  std::array<char, 128> text_{};
};

// The one place that gives a library's exceptions texts of ours. Code that shows, logs or sends why
// something failed asks here, not what() (tests/style/json_access_test.py).

/// Of our own exceptions this is what(). A type or key that the JSON library misses and an
/// allocation that failed have a sentence; a caller that knows the file, row or field
/// names it before.
std::string error_text(const std::exception& error);

}  // namespace rdmameter
