// SPDX-License-Identifier: Apache-2.0
// One client's session at the responder: takes the plan, and does its part of one case
// after the other.
#pragma once

#include <exception>
#include <optional>

#include "core/instrument/clock.h"
#include "core/session/end_choice.h"
#include "core/session/handshake.h"
#include "core/session/session_host.h"
#include "core/wire/channel.h"

namespace rdmameter {

/// How the server lets a client in; admit_client() calls these once each, in this order.
class Admission {
 public:
  /// The peer has sent something: it is not one of those that connect and say nothing.
  virtual void spoken() noexcept = 0;
  /// The peer has proved its token. Waits for a place among the clients.
  /// @throws MeasurementError  there is none
  /// @throws Interrupted       the server ends
  virtual void enter(const Channel& channel) = 0;

 protected:
  ~Admission() = default;
};

/// Takes a client's greeting and proof, and waits for its place.
/// @throws MeasurementError, Interrupted  it is not let in, which it has been told
Greeting admit_client(Channel& channel, const std::string& token, Admission& admission);

/// How a client's connection has ended by an exception.
ClientEvent event_of(const std::exception& error);

/// Serves a client that was let in until it says bye, goes away, falls silent or misbehaves.
/// Everything made for it is gone when this returns. Throws nothing: what went wrong is logged.
/// @param own   for what the client leaves open: device, port, GID, core. Its memory, if that is a
///              GPU's: then no client measures in another, or has it registered otherwise
/// @param gpus  may clients have GPUs opened?
void serve_session(Connection connection, const Greeting& greeting, const ClockChoice& clock,
                   const std::optional<OwnEnd>& own, bool gpus, SessionHost& host,
                   const InterruptSource& interrupt);

}  // namespace rdmameter
