// SPDX-License-Identifier: Apache-2.0
// Which process this is, and whether another one still runs.
#pragma once

#include <cstdint>
#include <string_view>

namespace rdmameter::software {

/// getpid() without its system call; right in a forked child, too.
std::uint32_t own_pid() noexcept;

/// True for a zombie as well: its memory is gone.
bool process_ended(std::uint32_t pid) noexcept;

/// Writes a line to stderr and aborts: the program does what no device allows.
[[noreturn]] void die(std::string_view why) noexcept;

}  // namespace rdmameter::software
