// SPDX-License-Identifier: Apache-2.0
// A session in a process of its own: nothing that its client makes it do, a crash included,
// affects another session.
#pragma once

#include <chrono>

#include "core/server/server_host.h"
#include "core/server/session_pipe.h"
#include "core/wire/wait.h"

namespace rdmameter {

/// The argument with which this program is such a process; not for users.
inline constexpr const char* kSessionArgument = "session";

/// The time from SIGTERM to SIGKILL, and the time to wait for the end of a killed process.
inline constexpr std::chrono::milliseconds kTermGrace{500}, kKillGrace{300};

/// Serves each client by a process of its own, which runs this program once more, and answers what
/// that asks until it has ended: SIGTERM ends it, and SIGKILL after kTermGrace.
/// @param start  what all sessions have; `peer`, `greeting` and `shown` are set for each
ServeClient in_own_process(SessionStart start);

/// The process itself: serves the client on kClientDescriptor.
/// @throws UsageError  it was not started as a session's process
void serve_inherited_session(const InterruptSource& interrupt);

}  // namespace rdmameter
