// SPDX-License-Identifier: Apache-2.0
// The axes of a test among ranks: those of ranks alone, and core's.
#pragma once

#include <cstdint>
#include <span>

#include "core/test_case/test_case.h"

namespace rdmameter {

/// The most ranks that a message has room to name; see topologies/ranks/loop/message_buffer.h.
inline constexpr std::uint32_t kMaxTopologyRanks = 4096;

/// Every axis of Pattern::topology, in the order of result names: those of ranks, then axes().
std::span<const Axis> topology_axes();

/// Every axis at its default: graph, traffic and schedule too, which the caller may change.
const TestCase& default_topology_case();

}  // namespace rdmameter
