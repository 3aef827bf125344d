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
  using Counted = void (*)(RankState&, std::uint64_t count, const ClockChoice&,
                           const StopFlag&) noexcept;
  using Limited = void (*)(RankState&, std::uint64_t count, std::uint64_t limit_ns,
                           const ClockChoice&, const StopFlag&) noexcept;

  void (*serve)(RankState&, const StopFlag&) noexcept;
  Counted time_barriers;
  Limited round_trip, exchange, stream;
  Counted collective;
  void (*wait)(ibv_cq*) noexcept;  ///< what an empty poll costs
};

/// @param yielding  give the core away between polls
const RankLoops& choose_rank_loops(ReceiveMode receive_mode, bool yielding,
                                   ClockChoice::Kind clock);

}  // namespace rdmameter
