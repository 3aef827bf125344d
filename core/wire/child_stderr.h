// SPDX-License-Identifier: Apache-2.0
// The stderr of another process of ours: libraries, the C library's abort(), sanitizers and ssh say
// there why a process ends. What is kept is the last of it.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "core/wire/wait.h"

namespace rdmameter {

class ChildStderr {
 public:
  static constexpr std::size_t kKeptBytes = 4096;

  /// @param pipe  its two ends, which do not block (O_NONBLOCK)
  explicit ChildStderr(std::pair<Descriptor, Descriptor> pipe);

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
