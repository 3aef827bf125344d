// SPDX-License-Identifier: Apache-2.0
// A server that belongs to the process at the other end of its stdin: `serve --token-stdin`, as
// ssh starts it.
#pragma once

#include <chrono>
#include <string>

#include "core/server/server.h"
#include "core/wire/wait.h"

namespace rdmameter {

/// The token comes within this time.
inline constexpr std::chrono::seconds kTokenTimeout{60};
/// A server that has no client for so long has lost its owner, however silently.
inline constexpr std::chrono::seconds kAloneTimeout{60};

/// The first line of stdin.
/// @throws UsageError   none comes, or it cannot be a token; the text does not repeat it
/// @throws Interrupted
std::string token_from_stdin(const InterruptSource& interrupt);

/// The address of this machine at which the ssh client has reached it: the third field of
/// SSH_CONNECTION, which the ssh server sets.
/// @throws UsageError  there is none
std::string ssh_server_address();

/// Ends a server when stdin ends, or when it has had no client for kAloneTimeout. What else comes
/// on stdin is ignored. Returns then, and at once when `done` is raised or the user interrupts.
void end_with_stdin(Server& server, const InterruptSource& interrupt, const EventFd& done);

}  // namespace rdmameter
