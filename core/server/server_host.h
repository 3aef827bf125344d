// SPDX-License-Identifier: Apache-2.0
// What the sessions of one server share, and how each of them comes to it.
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/engine/case_memory.h"
#include "core/session/handshake.h"
#include "core/session/responder.h"
#include "core/wire/channel.h"
#include "core/wire/socket.h"
#include "core/wire/wait.h"

namespace rdmameter {

/// What the clients of a server share; each case takes a part of it for its length. For any thread.
class Account {
 public:
  explicit Account(const CaseNeeds& limits) : limits_(limits) {}

  struct RunningCase {
    CaseNeeds needs;
    bool alone = false;  ///< when it began
    std::uint64_t number = 0;
  };

  /// Takes all that the case needs, or nothing.
  /// @throws Unsupported       it would not fit if it were alone
  /// @throws MeasurementError  it does not fit beside the others
  RunningCase take(const CaseNeeds& needs);
  /// Has another case run at any time since this one began?
  bool is_shared(const RunningCase& one);
  void give_back(const CaseNeeds& needs) noexcept;

 private:
  const CaseNeeds limits_;
  std::mutex mutex_;  ///< of what follows, which changes as one, or two that begin at once miss it
  CaseNeeds taken_;
  std::uint32_t running_ = 0;
  std::uint64_t started_ = 0;
};

/// A line about a client in a server's log.
struct ClientLine {
  std::string_view peer;  ///< address:port
  std::string_view text;
  ClientEvent event = ClientEvent::note;
};

/// Takes a line about a client; from any session's thread. It throws nothing and does not wait.
using ClientLog = std::function<void(const ClientLine& line)>;

class ServerHost;

/// How a server serves a client that it has let in, until that has gone: in_own_process(), or
/// serve_session() on the client's thread, which calls it.
/// @throws MeasurementError  the session cannot begin; the client has been told
using ServeClient = std::function<void(Channel client, const Greeting& greeting, ServerHost& host,
                                       const InterruptSource& interrupt)>;

/// More than the greatest case has, of both directions.
inline constexpr std::uint64_t kMaxThreads = 1024;

struct ServerOptions {
  Address bind{"localhost", 0};                       ///< port 0: any free one
  std::string token;                                  ///< that clients must prove; empty: none
  std::uint32_t max_clients = 64;                     ///< served at a time; others wait for a place
  CaseNeeds limits{kMaxBytesPerCase, kMaxThreads};    ///< of all cases that run at a time
  ServeClient serve;                                  ///< called from several threads
  ClientLog log = [](const ClientLine&) noexcept {};  ///< called from several threads; not empty
  bool one_client = false;  ///< serve() returns when the first one has gone
  /// Called with each row that a client sends to be shown, and with each case of its
  /// that is connected. Empty: no listener.
  ShowListener on_row = {};
  ConnectedListener on_connected = {};
};

/// The host of one session, in the server's own process. What a session that ends has left
/// is given back.
class ServerHost final : public SessionHost {
 public:
  /// @param options, account  the server's; borrowed
  ServerHost(const ServerOptions& options, Account& account, std::string peer)
      : options_(options), account_(account), peer_(std::move(peer)) {}
  ~ServerHost() { end_case(); }

  void log(std::string_view text, ClientEvent event = ClientEvent::note) noexcept override {
    options_.log({peer_, text, event});
  }
  void begin_case(const CaseNeeds& needs) override;
  bool case_is_shared() override { return running_ && account_.is_shared(*running_); }
  void end_case() noexcept override;
  bool shows_connected() const override { return options_.on_connected != nullptr; }
  void show_connected(const ConnectedCase& connected) override {
    if (options_.on_connected) options_.on_connected(connected);
  }
  void show_row(const Json& row) override {
    if (options_.on_row) options_.on_row(row);
  }

 private:
  const ServerOptions& options_;
  Account& account_;
  const std::string peer_;
  std::optional<Account::RunningCase> running_;
};

}  // namespace rdmameter
