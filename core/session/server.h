// SPDX-License-Identifier: Apache-2.0
// The resident responder: accepts clients and serves each on a thread of its own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/case_memory.h"
#include "core/clock.h"
#include "core/session/socket.h"
#include "core/session/wait.h"

namespace rdmameter {

struct ServerOptions {
  Address bind{"localhost", 0};  ///< port 0: any free one
  /// The token that clients must prove, or empty for none; asked once it is known who can reach the
  /// address at all.
  std::function<std::string(bool loopback_only)> choose_token;
  std::uint32_t most_clients = 64;  ///< served at a time; others wait for a place
  std::uint64_t most_memory_bytes = kMostBytesPerCase;  ///< of all cases that run at a time
  std::function<void(const std::string&)> log;          ///< a line; called from several threads
};

class Server {
 public:
  /// Listens from here on. @throws UsageError, VerbsError
  Server(ServerOptions options, const ClockChoice& clock, const InterruptSource& interrupt);
  Server(Server&&) = delete;
  /// Ends serve() and every client's session.
  ~Server();

  std::uint16_t port() const;
  bool loopback_only() const;
  const std::string& token() const;

  /// Serves until stop() or an interrupt; returns when all clients' threads have ended.
  void serve();
  void stop() noexcept;  ///< from any thread

 private:
  class State;
  std::unique_ptr<State> state_;
};

/// A server in this process, on loopback alone, behind a token of its own, serving on a thread: the
/// other end of `run --loopback`.
class LoopbackServer {
 public:
  LoopbackServer(const ClockChoice& clock, const InterruptSource& interrupt);
  ~LoopbackServer();
  Address address() const;
  const std::string& token() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace rdmameter
