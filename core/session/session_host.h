// SPDX-License-Identifier: Apache-2.0
// What a session asks of its server, which runs in this process or in another one.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "core/engine/introduction.h"

namespace rdmameter {

/// Memory and threads of a case at the responder.
struct CaseNeeds {
  std::uint64_t memory_bytes = 0;
  std::uint64_t threads = 0;  ///< that run loops
};

/// The kind of event in a log line about a client, for a log that leaves out some kinds.
enum class ClientEvent : std::uint8_t {
  note,          ///< none of the following
  connected,     ///< it was let in
  gone,          ///< it has said bye
  case_failed,   ///< it may ask again, with other settings
  hung_up,       ///< its connection has ended without a bye
  dropped,       ///< its connection was ended for another reason
  child_stderr,  ///< what its session's process wrote to stderr before it crashed
  session_end,   ///< that process crashed, or the server has killed it
};

/// Takes a row of a session, to show it. It may be anything where a peer sends it; from any thread.
/// @throws MeasurementError, UsageError  it is not what it should be, which ends the session
using ShowListener = std::function<void(const nlohmann::json& what)>;

/// Called with a case whose QPs are connected.
using ConnectedListener = std::function<void(const ConnectedCase& what)>;

class SessionHost {
 public:
  /// A line about the session's client.
  virtual void log(std::string_view text, ClientEvent event = ClientEvent::note) noexcept = 0;
  /// Takes what the case needs of what all clients share. One case at a time.
  /// @throws as Account::take()
  virtual void begin_case(const CaseNeeds& needs) = 0;
  /// Has another client's case run at any time since begin_case()?
  virtual bool case_is_shared() = 0;
  virtual void end_case() noexcept = 0;
  /// Is there a listener for connected cases?
  virtual bool shows_connected() const = 0;
  /// A case whose QPs are connected. @throws as show_row()
  virtual void show_connected(const ConnectedCase& connected) = 0;
  /// A row that the client sends, to be shown.
  /// @throws MeasurementError, UsageError  it is none
  virtual void show_row(const nlohmann::json& row) = 0;
  SessionHost(SessionHost&&) = delete;

 protected:
  SessionHost() = default;
  ~SessionHost() = default;
};

}  // namespace rdmameter
