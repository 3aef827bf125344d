// SPDX-License-Identifier: Apache-2.0
// Writing to what may take nothing for ever (a pipe without a reader, a stopped terminal), and
// other waits of commands, so that SIGTERM and Ctrl-C end them. A session's waits
// are in core/wire/wait.h.
#pragma once

#include <chrono>
#include <string_view>

namespace rdmameter {

/// Waits of this process end when `file` becomes readable: that of the InterruptSource, which is
/// never drained. Without it they have no end. Called before there are threads.
void end_waits_with(int file) noexcept;

/// @return  must everything end? Then it returns at once
bool wait_or_end(std::chrono::milliseconds time) noexcept;

/// Once everything must end, a reader that is there still has this long for what is left.
inline constexpr std::chrono::milliseconds kLastWait{500};

/// Writes all of it where the stream stands, in parts that a pipe takes whole.
/// @return  0, the errno value, or EINTR: everything must end, and the stream takes nothing
int write_patiently(int file, std::string_view text) noexcept;

}  // namespace rdmameter
