// SPDX-License-Identifier: Apache-2.0
// The resident responder: accepts clients and has each served by a process or a thread of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <thread>

#include "core/instrument/clock.h"
#include "core/server/server_host.h"
#include "core/wire/socket.h"
#include "core/wire/wait.h"
#include "core/wire/waiting_room.h"

namespace rdmameter {

// Does the limit on open files let a server have so many clients?

/// Raises the soft limit (RLIMIT_NOFILE) to what so many clients may take.
/// @throws UsageError  the hard limit is lower; the text names what fits
void allow_open_files(std::uint32_t max_clients);

class Server {
 public:
  /// Listens from here on. @throws UsageError, VerbsError
  Server(ServerOptions options, const InterruptSource& interrupt);
  Server(Server&&) = delete;
  /// Ends serve() and every client's session.
  ~Server() { end_all(); }

  std::uint16_t port() const { return listener_.port(); }
  bool loopback_only() const { return listener_.loopback_only(); }
  const std::string& token() const { return options_.token; }
  std::uint32_t clients() const;  ///< clients that are being served

  /// Serves until stop() or an interrupt; returns when all clients' threads have ended.
  /// @param at_connection  called for each connection before anything is said on it, by one thread
  void serve(const std::function<void()>& at_connection = {});
  void stop() noexcept;  ///< from any thread

 private:
  /// One that is `outside` has no place among the clients yet.
  enum class ClientState : std::uint8_t { outside, served, ended };

  struct Client {
    explicit Client(std::uint64_t unproved_place) : unproved_place(unproved_place) {}

    const std::uint64_t unproved_place;  ///< in the waiting room
    ClientState state = ClientState::outside;
    EventFd place;  ///< it has become `served`
    std::thread thread;
  };

  void start(WaitingRoom::Guest guest);
  void serve_client(Connection connection, Client& client) noexcept;
  void enter(Client& client, const Channel& channel);
  void leave(Client& client);
  void refuse(Connection connection, const std::string& reason) noexcept;
  void reap();
  void end_all();

  std::atomic<bool> stopping_{false};
  EventFd wake_;  ///< the accepting thread has something to look at
  const ServerOptions options_;
  Listener listener_;
  Account account_;  ///< of the cases that run now
  const InterruptSource& interrupt_;
  WaitingRoom unproved_;           ///< those that stand outside the limit on clients
  InterruptSource interrupt_all_;  ///< ends every session: the server stops, for whatever reason
  mutable std::mutex mutex_;       ///< of what follows
  std::list<Client> clients_;
  std::uint32_t served_ = 0;
  std::deque<Client*> waiting_;  ///< for a place, first come first served
};

/// A server in this process, on loopback alone, behind a token of its own, serving on a thread: the
/// other end of `run --loopback`.
class LoopbackServer {
 public:
  LoopbackServer(const ClockChoice& clock, const InterruptSource& interrupt);
  ~LoopbackServer();
  Address address() const { return {host_, server_.port()}; }
  const std::string& token() const { return server_.token(); }

 private:
  const std::string host_;
  Server server_;
  std::thread thread_;
};

}  // namespace rdmameter
