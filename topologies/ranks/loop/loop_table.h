// SPDX-License-Identifier: Apache-2.0
// The instance of the measured loops for a run.
#pragma once

#include "core/instrument/clock.h"
#include "core/test_case/test_case.h"
#include "topologies/ranks/loop/collective_loop.h"
#include "topologies/ranks/loop/loops.h"

namespace rdmameter {

/// An instance of each loop. Of ReceiveMode::sized there is no round trip, exchange or stream, and
/// of the others no collective: these are null.
struct RankLoops {
  void (*serve)(RankWork&, const StopFlag&, RankTally&) noexcept;
  void (*time_barriers)(RankWork&, std::uint64_t, const ClockChoice&, const StopFlag&,
                        RankTally&) noexcept;
  void (*round_trip)(RankWork&, std::uint64_t, std::uint64_t, const ClockChoice&, const StopFlag&,
                     RankTally&) noexcept;
  void (*exchange)(RankWork&, std::uint64_t, std::uint64_t, const ClockChoice&, const StopFlag&,
                   RankTally&) noexcept;
  void (*stream)(RankWork&, std::uint64_t, std::uint64_t, const ClockChoice&, const StopFlag&,
                 RankTally&) noexcept;
  void (*collective)(RankWork&, std::uint64_t, const ClockChoice&, const StopFlag&,
                     RankTally&) noexcept;
  void (*wait)(ibv_cq*) noexcept;  ///< what an empty poll costs
};

/// @param yielding  give the core away between polls
const RankLoops& choose_rank_loops(ReceiveMode receive_mode, bool yielding,
                                   ClockChoice::Kind clock);

}  // namespace rdmameter
