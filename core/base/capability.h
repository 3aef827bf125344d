// SPDX-License-Identifier: Apache-2.0
// May this process do what its kernel keeps for some? (capabilities(7))
#pragma once

#include <filesystem>

namespace rdmameter {

inline constexpr unsigned kCapIpcLock = 14;  ///< the limit on locked memory does not bind

/// Is it among the effective ones? @param status  of a process: /proc/PID/status
bool has_capability(unsigned capability, const std::filesystem::path& status = "/proc/self/status");

}  // namespace rdmameter
