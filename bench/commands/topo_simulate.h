// SPDX-License-Identifier: Apache-2.0
// rdmameter topo --simulate: cases in virtual time, in this process.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/options/command.h"

namespace rdmameter {

struct SimulatedRun {
  std::string network;  ///< see kNetworkForm
  std::string output;   ///< of the result; empty: none
  bool iterations_given = false, warmup_given = false;
};

/// Simulates the cases, each once, since another time gives the same; shows and writes the rows as
/// those of measured cases, but with another name, device and path.
/// @param cases  planned; it adds why one of them cannot be simulated
/// @throws UsageError  no such network
ExitStatus simulate_cases(std::vector<PlannedCase> cases, const SimulatedRun& run,
                          const Invocation& invocation);

}  // namespace rdmameter
