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

#include "core/session/handshake.h"
#include "core/session/responder.h"
#include "core/wire/channel.h"
#include "core/wire/wait.h"

namespace rdmameter {

// What all clients of a server share, and each case takes a part of for its length.

/// Takes and gives back, from any thread.
class Account {
 public:
  explicit Account(const CaseNeeds& limits) : limits_(limits) {}

  /// Takes all that the case needs, or nothing.
  /// @throws Unsupported       it would not fit if it were alone
  /// @throws MeasurementError  it does not fit beside the others
  void take(const CaseNeeds& needs);
  void give_back(const CaseNeeds& needs) noexcept;

 private:
  const CaseNeeds limits_;
  std::mutex mutex_;
  CaseNeeds taken_;
};

/// A line about a client in a server's log.
struct ClientLine {
  std::string_view peer;  ///< address:port
  std::string_view text;
  ClientEvent event = ClientEvent::note;
};

/// Takes a line about a client; from any session's thread. It throws nothing and does not wait.
using ClientLog = std::function<void(const ClientLine& line)>;

/// The objects that the sessions of one server share.
struct ResponderShared {
  explicit ResponderShared(const CaseNeeds& limits) : account(limits) {}

  std::string token;  ///< empty: none is wanted
  ClientLog log;
  ShowListener on_row;             ///< empty: no listener
  ConnectedListener on_connected;  ///< empty: no listener
  Account account;                 ///< of the cases that run now
  std::mutex cases;  ///< of what follows; both change as one, or two that begin at once miss it
  std::uint32_t cases_running = 0;
  std::uint64_t cases_started = 0;
};

/// The host of one session, in the server's own process. What a session that ends has left
/// is given back.
class ServerHost final : public SessionHost {
 public:
  /// @param shared  borrowed
  ServerHost(ResponderShared& shared, std::string peer) : shared_(shared), peer_(std::move(peer)) {}
  ~ServerHost() { end_case(); }

  void log(std::string_view text, ClientEvent event = ClientEvent::note) noexcept override {
    shared_.log({peer_, text, event});
  }
  void begin_case(const CaseNeeds& needs) override;
  bool case_is_shared() override;
  void end_case() noexcept override;
  bool shows_connected() const override { return shared_.on_connected != nullptr; }
  void show_connected(const ConnectedCase& connected) override {
    if (shared_.on_connected) shared_.on_connected(connected);
  }
  void show_row(const nlohmann::json& row) override {
    if (shared_.on_row) shared_.on_row(row);
  }

 private:
  struct Running {
    CaseNeeds needs;
    bool alone = false;
    std::uint64_t number = 0;
  };

  ResponderShared& shared_;
  const std::string peer_;
  std::optional<Running> running_;
};

/// How a server serves a client that it has let in, until that has gone: in_own_process(), or
/// serve_session() on the client's thread, which calls it.
/// @throws MeasurementError  the session cannot begin; the client has been told
using ServeClient = std::function<void(Channel client, const Greeting& greeting, ServerHost& host,
                                       const InterruptSource& interrupt)>;

}  // namespace rdmameter
