// SPDX-License-Identifier: Apache-2.0
// A server on another host, started there by the system's ssh for one run and ended with it.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

#include "core/wire/child_stderr.h"
#include "core/wire/socket.h"
#include "core/wire/wait.h"

namespace rdmameter {

/// How a server is started elsewhere.
struct RemoteStart {
  std::vector<std::string> words;  ///< ssh, its arguments, and the command for the host
  std::string host;                ///< where, for people
  std::string program;             ///< rdmameter's name or path there
};

/// Its stdin is a pipe of ours: the server ends when that closes, however we end.
class RemoteServer {
 public:
  /// Returns when it listens.
  /// @throws MeasurementError  ssh cannot be started or does not get there, the program is not
  ///                           there, has another protocol or does not start: the reason
  /// @throws Interrupted
  RemoteServer(const RemoteStart& start, const InterruptSource& interrupt);
  RemoteServer(RemoteServer&&) = delete;
  /// Ends it, and ssh. Waits for that, but not without end.
  ~RemoteServer();

  const Address& address() const noexcept { return address_; }
  /// The token that the server accepts, and no other process has.
  const std::string& token() const noexcept { return token_; }

 private:
  void await_ready(const InterruptSource& interrupt);
  bool read_lines();
  bool ended_within(Deadline deadline);
  int end(std::chrono::seconds grace) noexcept;
  [[noreturn]] void throw_not_started(int status);
  std::string last_line();

  const RemoteStart start_;
  const std::string token_;
  Address address_;
  ChildStderr stderr_;
  Descriptor stdin_, stdout_, process_;  ///< of ssh
  std::string unread_;                   ///< of stdout: the beginning of a line
  pid_t child_ = 0;
};

}  // namespace rdmameter
