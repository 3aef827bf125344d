// SPDX-License-Identifier: Apache-2.0
// A case of ranks in virtual time: the plans, credits and measured loops of the ranks themselves,
// on QPs whose messages take the times of a network model. Nothing is measured.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "core/base/stop.h"
#include "core/engine/measurer.h"
#include "topologies/simulator/sim_network.h"

namespace rdmameter {

/// Why this case is not simulated, beyond what why_no_topology() knows; empty: it can be.
std::string why_not_simulated(const TestCase& test_case);

/// A repetition, as all ranks together would measure it; the same at each call.
/// @pre    why_no_topology() and why_not_simulated() are empty
/// @return latencies, rates and counts; no connect time, no placement, no CPU time
/// @throws MeasurementError  a rank has failed
/// @throws Interrupted  `stop` was requested meanwhile
/// @param begun  is told, before anything takes long, about how many messages will pass an edge
Outcome simulate(const TestCase& test_case, const SimNetwork& network, const StopFlag& stop,
                 const std::function<void(std::uint64_t messages)>& begun = nullptr);

}  // namespace rdmameter
