// SPDX-License-Identifier: Apache-2.0
// What an error says to a person, and to a shell or a CI job.
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

// What the program's exit status says, to a person, a shell or a CI job.

enum class ExitStatus : int {
  pass = 0,
  regression = 1,  ///< confirmed regression or failed gate
  usage = 2,       ///< usage, configuration, files that cannot be compared, nothing left to measure
  inconclusive = 3,  ///< nothing fails, and not everything is proven to pass
  no_device = 77,
  failed = 99,  ///< a measurement failed
  interrupted = 130,
};

/// The status that an exception stands for. Must be called with a non-null one.
ExitStatus status_of(const std::exception_ptr& thrown);

/// Throws what a process of ours stands for that ended with a status and has said why on stderr.
/// @param who  "side A"
/// @throws UsageError, NoDevice, Interrupted, MeasurementError
/// @param remedy  what to do where it was called wrongly
[[noreturn]] void throw_ended(const std::string& who, int status, const std::string& remedy);

}  // namespace rdmameter
