// SPDX-License-Identifier: Apache-2.0
// The instance of the measured loops for a run.
#pragma once

#include "core/case.h"
#include "core/clock.h"
#include "topologies/loops.h"

namespace rdmameter {

/// An instance of each loop.
struct RankLoops {
  void (*serve)(RankWork&, const StopWord&, RankTally&) noexcept;
  void (*time_barriers)(RankWork&, std::uint64_t, const ClockChoice&, const StopWord&,
                        RankTally&) noexcept;
  void (*walk)(RankWork&, std::uint64_t, std::uint64_t, const ClockChoice&, const StopWord&,
               RankTally&) noexcept;
  void (*exchange)(RankWork&, std::uint64_t, std::uint64_t, const ClockChoice&, const StopWord&,
                   RankTally&) noexcept;
  void (*stream)(RankWork&, std::uint64_t, std::uint64_t, const ClockChoice&, const StopWord&,
                 RankTally&) noexcept;
};

/// @param yielding  give the core away between polls
const RankLoops& choose_rank_loops(Inbox inbox, bool yielding, ClockChoice::Kind clock);

}  // namespace rdmameter
