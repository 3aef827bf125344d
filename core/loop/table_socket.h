// SPDX-License-Identifier: Apache-2.0
// From options to a measured loop over a socket.
#pragma once

#include "core/case.h"
#include "core/clock.h"
#include "core/loop/socket_traffic.h"
#include "core/loop/traffic.h"
#include "core/role.h"
#include "core/stop.h"

namespace rdmameter {

using SocketLoop = LoopEnd (*)(SocketTraffic&, const LoopPlan&, const ClockChoice&, const StopWord&,
                               LoopTally&);

/// @param wait  not Wait::automatic
SocketLoop choose_socket_loop(Pattern pattern, Role role, Wait wait, ClockChoice::Kind clock);

}  // namespace rdmameter
