// SPDX-License-Identifier: Apache-2.0
// One client's session at the responder: takes the plan, and does its part of one case after the
// other. And what the session asks of its server.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

#include "core/engine/introduction.h"
#include "core/instrument/clock.h"
#include "core/session/end_choice.h"
#include "core/session/handshake.h"
#include "core/wire/channel.h"

namespace rdmameter {

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

/// How a client's connection has ended by an exception.
ClientEvent event_of(const std::exception& error);

/// Memory and threads of a case at the responder.
struct CaseNeeds {
  std::uint64_t memory_bytes = 0;
  std::uint64_t threads = 0;  ///< that run loops
};

/// Takes a row of a session, to show it. It may be anything where a peer sends it; from any thread.
/// @throws MeasurementError, UsageError  it is not what it should be, which ends the session
using ShowListener = std::function<void(const Json& what)>;

/// What a session asks of its server, which runs in this process or in another one.
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
  virtual void show_row(const Json& row) = 0;
  SessionHost(SessionHost&&) = delete;

 protected:
  SessionHost() = default;
  ~SessionHost() = default;
};

/// Serves a client that was let in until it says bye, goes away, falls silent or misbehaves.
/// Everything made for it is gone when this returns. Throws nothing: what went wrong is logged.
/// @param own   for what the client leaves open: device, port, GID, core. Its memory, if that is a
///              GPU's: then no client measures in another, or has it registered otherwise
/// @param gpus  may clients have GPUs opened?
void serve_session(Connection connection, const Greeting& greeting, const ClockChoice& clock,
                   const std::optional<OwnEnd>& own, bool gpus, SessionHost& host,
                   const InterruptSource& interrupt);

}  // namespace rdmameter
