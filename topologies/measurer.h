// SPDX-License-Identifier: Apache-2.0
// Measures topologies: what each rank does for a case, in step with all others.
#pragma once

#include <chrono>
#include <memory>

#include "core/clock.h"
#include "core/measurer.h"
#include "core/session/wait.h"
#include "topologies/ranks.h"

namespace rdmameter {

class TopologyMeasurer : public Measurer {
 public:
  /// Environments of all ranks, by rank: {"rank", "host", "device"...}. Collective: every rank asks
  /// for it once, before the first case.
  virtual nlohmann::ordered_json ranks_environment(const Case& first) = 0;
};

/// Every rank makes one and measures the same cases in the same order. Outcomes are whole at rank 0
/// alone.
/// @param patience  how long a rank may keep the others waiting without any progress
std::unique_ptr<TopologyMeasurer> make_topology_measurer(Ranks& ranks,
                                                         std::chrono::milliseconds patience,
                                                         const ClockChoice& clock,
                                                         const InterruptSource& interrupt);

/// All ranks are of one version and were given the same options.
/// @param options  the command line, as far as it must be the same
/// @return  empty: they are; else who differs from rank 0, and in what
std::string check_same(Ranks& ranks, const std::string& version, const std::string& options);

}  // namespace rdmameter
