// SPDX-License-Identifier: Apache-2.0
// The instance of the measured loops for a run.
#pragma once

#include "core/instrument/clock.h"
#include "core/test_case/test_case.h"
#include "topologies/ranks/loop/rank_state.h"

namespace rdmameter {

/// An instance of each loop. Of ReceiveMode::sized there is no round trip, exchange or stream, and
/// of the others no collective: these are null.
struct RankLoops {
  void (*serve)(RankState&, const StopFlag&) noexcept;
  void (*time_barriers)(RankState&, std::uint64_t, const ClockChoice&, const StopFlag&) noexcept;
  void (*round_trip)(RankState&, std::uint64_t, std::uint64_t, const ClockChoice&,
                     const StopFlag&) noexcept;
  void (*exchange)(RankState&, std::uint64_t, std::uint64_t, const ClockChoice&,
                   const StopFlag&) noexcept;
  void (*stream)(RankState&, std::uint64_t, std::uint64_t, const ClockChoice&,
                 const StopFlag&) noexcept;
  void (*collective)(RankState&, std::uint64_t, const ClockChoice&, const StopFlag&) noexcept;
  void (*wait)(ibv_cq*) noexcept;  ///< what an empty poll costs
};

/// @param yielding  give the core away between polls
const RankLoops& choose_rank_loops(ReceiveMode receive_mode, bool yielding,
                                   ClockChoice::Kind clock);

}  // namespace rdmameter
