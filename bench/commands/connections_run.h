// SPDX-License-Identifier: Apache-2.0
// A run of `topo connections`: the cases that follow from what is asked and from the devices, then
// more numbers of connections around each knee.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/cases/connection_cases.h"
#include "bench/options/command.h"
#include "bench/options/measuring_options.h"
#include "bench/options/run_hosts.h"
#include "core/result/json_text.h"

namespace rdmameter {

/// With a number of repetitions; axes are those of the settings.
struct ConnectionsRequest : MeasuringOptions {  // of the positionals one, HOST
  HostOptions host_options;
  std::vector<ConnectionKind> kinds;
  std::vector<ConnectionOpcode> opcodes;
  std::uint64_t max_qps = 4096, memory_budget_bytes = 1 << 30;
  std::uint64_t order_seed = 0;
  ConnectionSettings settings;

  std::optional<RunTarget> host;  ///< what they name; nothing: not said, as a dry run may leave it
};

/// How many QPs a device has for the connections of a run; nothing: it does not say.
struct DeviceQps {
  std::optional<std::uint64_t> initiator, responder;
  std::string reason;
};

struct ConnectionPlan {
  std::vector<ConnectionCase> cases;
  /// For each curve that ends before --max-qps: where it ends, and why.
  Json limits = Json::array();
};

/// @throws UsageError  nothing is left to measure; an axis that no case uses
ConnectionPlan plan_connections(const ConnectionsRequest& request, const DeviceQps& qps);

/// At most so many rounds around a knee, each with at most so many more numbers.
inline constexpr unsigned kRoundsAtKnee = 3, kNumbersAtKnee = 7;

/// Writes the result, and prints its curves.
/// @param request  with a host
ExitStatus measure_connections(const ConnectionsRequest& request, const Invocation& invocation);

}  // namespace rdmameter
