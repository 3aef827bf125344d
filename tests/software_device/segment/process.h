// SPDX-License-Identifier: Apache-2.0
// Which process this is, and whether another one still runs.
#pragma once

#include <cstdint>
#include <string_view>

namespace rdmameter::software {

/// getpid() without its system call; right in a forked child, too.
std::uint32_t own_pid() noexcept;

/// True for a zombie as well: its memory is gone.
bool process_ended(std::uint32_t pid) noexcept;

/// Looks after those for whom this process waits. An adapter goes on while a program is stopped;
/// here one may have been stopped with a lock in its hand, and its peers would hang. Such a one
/// runs until this goes, and is stopped again.
class HolderWatch {
 public:
  HolderWatch() = default;
  HolderWatch(HolderWatch&&) = delete;
  ~HolderWatch() { stop_again(); }
  /// @return true: it has ended, and holds nothing any more
  bool ended(std::uint32_t pid) noexcept;

 private:
  void stop_again() noexcept;

  std::uint64_t began_ns_ = 0;  ///< the first look; 0: none yet
  std::uint32_t resumed_ = 0;   ///< a pid; 0: none
};

/// Writes a line to stderr and aborts: the program does what no device allows.
[[noreturn]] void die(std::string_view why) noexcept;

}  // namespace rdmameter::software
