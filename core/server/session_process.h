// SPDX-License-Identifier: Apache-2.0
// A session in a process of its own: nothing that its client makes it do, a crash included,
// affects another session.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "core/server/server_host.h"
#include "core/server/session_pipe.h"
#include "core/wire/channel.h"
#include "core/wire/wait.h"

namespace rdmameter {

// The stderr of a session's process: libraries, the C library's abort() and sanitizers say there
// why a process dies. What is kept is the last of it, for the log.

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

/// The argument with which this program is such a process; not for users.
inline constexpr const char* kSessionArgument = "session";

/// The time from SIGTERM to SIGKILL, and the time to wait for the end of a killed process.
inline constexpr std::chrono::milliseconds kTermGrace{500}, kKillGrace{300};

/// Runs this program once more for a client that has been let in, and answers what that process
/// asks, until it has ended. Only that process serves the client from here on.
/// @param client     closed here once the process has it
/// @param interrupt  ends the process: SIGTERM, and SIGKILL after kTermGrace
/// @throws MeasurementError  the process cannot be started; the client has been told
void run_session_process(Channel client, const SessionStart& start, ServerHost& host,
                         const InterruptSource& interrupt);

/// @param what   the call that failed
/// @param error  its errno value
/// @throws MeasurementError  always; where the server's user can do something, it says what
[[noreturn]] void throw_not_started(const char* what, int error);

/// The process itself: serves the client on kClientDescriptor.
/// @throws UsageError  it was not started as a session's process
void serve_inherited_session(const InterruptSource& interrupt);

}  // namespace rdmameter
