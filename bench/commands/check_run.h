// SPDX-License-Identifier: Apache-2.0
// A check: doctor at both ends, a few cases of each device, and once more those of what was found.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/check/plan.h"
#include "bench/options/command.h"
#include "bench/options/run_hosts.h"

namespace rdmameter {

struct CheckRequest {
  RunHost host;
  std::vector<std::string> devices;  ///< none: the ends choose one; kAllDevices alone: all
  std::vector<std::string> peers;    ///< none, or one for each of the devices
  bool gpu = false, brief = false;
  CheckLimits limits;
  std::string expect, output;  ///< result files; empty: none
};

/// Writes the result, and prints what was found.
/// @throws NoDevice, UsageError, MeasurementError, Interrupted  nothing could be measured
ExitStatus run_check(const CheckRequest& request, const Invocation& invocation);

}  // namespace rdmameter
