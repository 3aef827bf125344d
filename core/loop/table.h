// SPDX-License-Identifier: Apache-2.0
// From options to a measured loop: every choice that can be made before the clock starts is made
// here.
#pragma once

#include "core/case.h"
#include "core/clock.h"
#include "core/loop/traffic.h"
#include "core/role.h"
#include "core/stop.h"

namespace rdmameter {

/// A measured loop, ready to run. Ends by its plan, by `stop`, or by an error; throws nothing.
using MeasuredLoop = LoopEnd (*)(Traffic&, const LoopPlan&, const ClockChoice&, const StopWord&,
                                 LoopTally&);

/// The loop for this end of a case; nullptr where this end takes no part (the target of RDMA WRITE
/// bandwidth and of RDMA READ).
/// @param wait  not Wait::automatic
MeasuredLoop choose_loop(const Case& one_case, Role role, Wait wait, ClockChoice::Kind clock);

}  // namespace rdmameter
