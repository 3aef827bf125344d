// SPDX-License-Identifier: Apache-2.0
// The stderr of a session's process: libraries, the C library's abort() and sanitizers say there
// why a process dies. What is kept is the last of it, for the log.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/wire/wait.h"

namespace rdmameter {

class ChildStderr {
 public:
  static constexpr std::size_t kKeptBytes = 4096;

  /// @throws VerbsError  there is no descriptor or memory for a pipe
  ChildStderr();

  /// The process's future stderr. A write to it does not block: text beyond its 64 KiB is lost.
  int writable() const noexcept { return writable_.get(); }
  /// The process has it.
  void close_writable() noexcept { writable_.reset(); }

  /// Makes room: takes what has been written so far. Does not wait.
  void take() noexcept;

  /// The lines of the last kKeptBytes that were written, without empty ones; of any bytes.
  std::vector<std::string> lines();

 private:
  Descriptor readable_, writable_;
  std::string kept_;
};

}  // namespace rdmameter
