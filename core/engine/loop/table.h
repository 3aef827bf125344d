// SPDX-License-Identifier: Apache-2.0
// From options to a measured loop: every choice that can be made before the clock starts
// is made here.
#pragma once

#include "core/base/role.h"
#include "core/base/stop.h"
#include "core/engine/loop/loop_state.h"
#include "core/engine/loop/socket_state.h"
#include "core/instrument/clock.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// A measured loop, ready to run. Ends by its plan, by `stop`, or by an error; throws nothing.
using MeasuredLoop = LoopResult (*)(LoopState&, const LoopPlan&, const ClockChoice&,
                                    const StopFlag&, LoopTally&);

/// The loop for this end of a case; nullptr where this end takes no part (the target of RDMA WRITE
/// bandwidth and of RDMA READ).
/// @param wait      not Wait::automatic
/// @param credited  its sends wait for receives
MeasuredLoop choose_loop(const TestCase& test_case, Role role, Wait wait, ClockChoice::Kind clock,
                         bool credited = false);

/// Does the initiator's loop keep what each QP does? Where there are several, and no timestamps are
/// kept; not where the receiver counts.
bool keeps_each_qp(const TestCase& test_case);

/// The place of a wait in a table of loops: spin, yield, event.
/// @param wait  not Wait::automatic
std::size_t place_of(Wait wait);

/// The poll function for a CqRing of this end. Only the initiator keeps timestamps.
PollFunction choose_poll(const TestCase& test_case, Role role);

/// The WR opcode of the request, for an opcode that is posted.
ibv_wr_opcode wr_opcode(Opcode opcode);

/// @param inlined  the payload goes into the WQE
/// @param sges     of each WR
/// @throws Unsupported  more inlined pieces than the measured path has room for
PostFunction choose_extended_post(const TestCase& test_case, bool inlined, std::size_t sges);

/// IBV_QP_EX_WITH_...: what a QP must be created with for it.
std::uint64_t extended_operations(const TestCase& test_case);

using SocketLoop = LoopResult (*)(SocketState&, const LoopPlan&, const ClockChoice&,
                                  const StopFlag&, LoopTally&);

/// @param wait  not Wait::automatic
SocketLoop choose_socket_loop(Pattern pattern, Role role, Wait wait, ClockChoice::Kind clock);

}  // namespace rdmameter
