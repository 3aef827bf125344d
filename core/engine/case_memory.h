// SPDX-License-Identifier: Apache-2.0
// What one end of a case takes of the machine's memory, known before anything is allocated.
#pragma once

#include <cstdint>

#include "core/engine/settle.h"

namespace rdmameter {

/// A case that takes more than this at one end is refused there.
inline constexpr std::uint64_t kMaxBytesPerCase = 16ULL << 30;

/// Buffers as they are, WRs as they are, and the device's queues as they usually are: providers
/// round up in ways of their own, so this is a limit's measure and no promise.
/// @param test_case  one that why_impossible() lets through
std::uint64_t case_memory_bytes(const DeviceCase& test_case);

/// @throws Unsupported  the case takes more than kMaxBytesPerCase at this end
void require_memory(const DeviceCase& test_case);

}  // namespace rdmameter
