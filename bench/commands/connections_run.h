// SPDX-License-Identifier: Apache-2.0
// A run of `topo connections`: all numbers of connections, then more of them around each knee.
#pragma once

#include "bench/commands/connections_plan.h"
#include "bench/options/command.h"

namespace rdmameter {

/// At most so many rounds around a knee, each with at most so many more numbers.
inline constexpr unsigned kRoundsAtKnee = 3, kNumbersAtKnee = 7;

/// Writes the result, and prints its curves.
/// @param request  with a host
ExitStatus measure_connections(const ConnectionsRequest& request, const Invocation& invocation);

}  // namespace rdmameter
