// SPDX-License-Identifier: Apache-2.0
// A heap that is used up (a limit of `ulimit -v`, a control group that does not
// overcommit), in words.
#pragma once

#include <array>
#include <cstddef>
#include <new>
#include <string_view>

namespace rdmameter {

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

}  // namespace rdmameter
