// SPDX-License-Identifier: Apache-2.0
// Up to which size perftest's latency tests inline a message, adapter by adapter.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

#include "bench/perftest/tool.h"

namespace rdmameter {

/// perftest's inline bytes for a device that it leaves at its default, on RC or UC and on UD; 0:
/// bandwidths, reads and atomics.
std::uint64_t perftest_default_inline(const PerftestTool& tool, bool datagrams);

/// The inline bytes that perftest's latency tests ask for on this device, from its default; 0 where
/// perftest does not know the device.
/// @param environment  of an end; without a device (the null device): the default
std::uint64_t perftest_inline_on(const nlohmann::ordered_json& environment,
                                 std::uint64_t default_bytes, bool datagrams);

}  // namespace rdmameter
