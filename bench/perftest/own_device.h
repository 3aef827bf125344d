// SPDX-License-Identifier: Apache-2.0
// The device of the end that was started: an error in its own options is told there, and at once.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "bench/perftest/translate.h"
#include "core/instrument/clock.h"

namespace rdmameter {

/// Is there what -d, -i and -x name, and is the port active? perftest's lines come first.
/// @return the environment of this end with that device
/// @throws NoDevice, UsageError, Unsupported, VerbsError
nlohmann::ordered_json require_own_device(const PerftestPlan& plan, const ClockChoice& clock);

/// With -R and --bind_source_ip, rdma_cm's QPs are bound to that address, too: takes the device,
/// port and GID of this end that have it, among what -d and -i leave open. Where there are none, or
/// -x names a GID, the plan stays as it is.
void bind_to_source(PerftestPlan& plan);

/// What perftest calls the device's transport: "IB", "IW", "Unknown".
/// @param environment  of this end; without a device: "IB"
std::string perftest_transport(const nlohmann::ordered_json& environment);

/// perftest's lines where there is no such device, or where its port cannot be used.
void tell_no_device(const PerftestPlan& plan);

}  // namespace rdmameter
