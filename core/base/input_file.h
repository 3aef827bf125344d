// SPDX-License-Identifier: Apache-2.0
// Reading a file that a user named: it may be anything, and must never make the program wait
// without end.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <string>

namespace rdmameter {

struct InputRules {
  std::string name = {};       ///< of the file, in errors; empty: its path
  std::size_t max_bytes = 0;   ///< what is larger is refused,
  bool beginning = false;      ///< or cut there
  std::size_t last_lines = 0;  ///< of a regular file so many alone, its end; 0: all
  bool secret = false;         ///< only this user (and root) may read or write the file
  std::chrono::milliseconds for_writer = std::chrono::seconds(30);  ///< see read_input()
};

/// The bytes of a file. Where no writer has opened a FIFO yet, one is awaited for `for_writer`; a
/// writer that is there may take any time. An interrupt ends the wait.
/// @throws UsageError   it cannot be read, is too large, or is a secret that others can reach; the
///                      text names the file and the remedy
/// @throws Interrupted  a signal came while waiting
std::string read_input(const std::string& path, const InputRules& rules);

/// The bytes of a file piece by piece, so that a large one need not stand in memory.
struct InputParts {
  bool regular = false;  ///< a file that can be read again
  /// Adds up to so many bytes. @return  false: there are no more @throws  as read_input()
  std::function<bool(std::string& text, std::size_t bytes)> append_to;
};

/// @param rules  `beginning` and `last_lines` do not apply
/// @throws       as read_input()
InputParts open_input(const std::string& path, const InputRules& rules);

}  // namespace rdmameter
