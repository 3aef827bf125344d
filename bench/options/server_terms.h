// SPDX-License-Identifier: Apache-2.0
// The default limits of what a server gives its clients, for each command that is a server.
#pragma once

#include <cstdint>
#include <string>

#include "core/log/log_limit.h"
#include "core/server/sandbox.h"
#include "core/session/responder.h"

namespace rdmameter {

std::uint64_t machine_memory_bytes();
/// The most memory of all clients' cases together: half of the machine's; the rest is left to
/// its other users.
std::uint64_t default_max_memory_bytes();
/// The most threads of all clients' cases together.
std::uint64_t default_max_threads();
inline constexpr std::uint64_t kMinThreads = 128;  ///< whatever the number of CPUs
inline constexpr std::uint64_t kThreadsPerCpu = 4;

/// "off", "on" or "required".
/// @throws UsageError  naming `option`
Sandboxing sandboxing_from_text(const std::string& option, const std::string& text);

/// Who causes a line about a client.
Speaker speaker_of(ClientEvent event);

/// Says so where this kernel can shut clients' processes in only in part.
/// @param off  what turns the sandbox off
void tell_missing_sandbox(const char* off);

/// Takes the token out of the environment, which a session's process inherits, and out of
/// /proc/PID/environ, which shows what this process was started with to whatever its user runs.
void forget_token_variable();

}  // namespace rdmameter
