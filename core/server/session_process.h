// SPDX-License-Identifier: Apache-2.0
// A session in a process of its own: nothing that its client makes it do, a crash included,
// affects another session.
#pragma once

#include "core/server/server_host.h"
#include "core/server/session_pipe.h"
#include "core/wire/channel.h"

namespace rdmameter {

/// The argument with which this program is such a process; not for users.
inline constexpr const char* kSessionArgument = "session";

/// The time from SIGTERM to SIGKILL, and the time to wait for the end of a killed process.
inline constexpr std::chrono::milliseconds kTermGrace{500}, kKillGrace{300};

/// Runs this program once more for a client that has been let in, and answers what that process
/// asks, until it has ended. Only that process serves the client from here on.
/// @param client     closed here once the process has it
/// @param interrupt  ends the process: SIGTERM, and SIGKILL after kTermGrace
/// @throws MeasurementError  the process cannot be started; the client has been told
void run_session_process(Channel client, const SessionStart& start, ServerHost& host,
                         const InterruptSource& interrupt);

/// @param what   the call that failed
/// @param error  its errno value
/// @throws MeasurementError  always; where the server's user can do something, it says what
[[noreturn]] void throw_not_started(const char* what, int error);

/// The process itself: serves the client on kClientDescriptor.
/// @throws UsageError  it was not started as a session's process
void serve_inherited_session(const InterruptSource& interrupt);

}  // namespace rdmameter
