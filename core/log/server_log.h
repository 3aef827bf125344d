// SPDX-License-Identifier: Apache-2.0
// The log of a resident server. Strangers must not be able to stop, end or fill
// anything through it.
//
// Lines go into a bounded queue, and one thread of its own writes them. Nothing else is safe
// without a reader: O_NONBLOCK belongs to the open file description, which the shell, the launcher
// and their other children share, and would break their writes. poll() before a short write()
// leaves a gap in which another writer of a shared pipe takes the room, and says nothing about a
// terminal that ^S has stopped or a file on a network that hangs. So writing may block forever, and
// only the log's thread writes.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string_view>

#include "core/log/log_limit.h"
#include "core/log/print.h"

namespace rdmameter {

class ServerLog {
 public:
  using Clock = std::chrono::system_clock;
  static constexpr std::size_t kMaxLineBytes = 1024;  ///< of a line, time and mark aside
  static constexpr std::size_t kMaxLines = 1024;      ///< that wait to be written

  /// Takes over what tell() says.
  /// @param fd   borrowed, also beyond the destructor where a write does not return
  /// @param now  for the times of lines
  explicit ServerLog(int fd, std::function<Clock::time_point()> now = Clock::now);
  /// Writes what is left, for kLastWords at most.
  ~ServerLog();

  /// A line about a client: "2026-11-22T09:30:00.125Z PEER: TEXT", escaped (core/base/printable.h).
  /// Where it cannot be written, or there are too many of one source (LogLimit), it is counted and
  /// a later line says so.
  /// @param peer  address:port
  void line(std::string_view peer, std::string_view text,
            Speaker speaker = Speaker::client) noexcept;

 private:
  /// Lines of the program's own, without a limit on how many. An indented one continues the one
  /// before and has no time.
  void told(std::string_view text) noexcept;

  struct State;
  std::shared_ptr<State> state_;  ///< the writing thread holds it, too
  TellSink sink_{[this](std::string_view text) { told(text); }};
};

}  // namespace rdmameter
