// SPDX-License-Identifier: Apache-2.0
// rdmameter topo --simulate: what makes planned cases simulated ones, and what simulates them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "core/base/stop.h"
#include "core/engine/measurer.h"

namespace rdmameter {

/// Simulates each case in this process; the rows' path is "simulated".
/// @param network  see kNetworkForm
/// @param stop     ends a simulation; borrowed
/// @throws UsageError  no such network
std::unique_ptr<Measurer> make_simulated_measurer(const std::string& network, const StopFlag& stop);

/// Gives the cases another name and device, so that no row is taken for one that was measured, and
/// as many iterations as a simulation needs. Adds why one of them cannot be simulated.
/// @param given  what was typed: counts among it stay as they are
/// @throws UsageError  no such network; an axis of which it knows nothing
void make_simulated(std::vector<PlannedCase>& cases, const std::string& network,
                    std::span<const GivenAxis> given);

}  // namespace rdmameter
