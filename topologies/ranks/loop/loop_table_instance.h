// SPDX-License-Identifier: Apache-2.0
// The measured loops of one policy, as the table has them.
#pragma once

#include "topologies/ranks/loop/collective_loop.h"
#include "topologies/ranks/loop/loop_table.h"
#include "topologies/ranks/loop/loops.h"

namespace rdmameter {

template <class P>
struct RankLoopInstance {
  using Clock = typename P::Clock;

  template <auto kLoop>
  static void counted(RankState& state, std::uint64_t count, const ClockChoice& choice,
                      const StopFlag& stop) noexcept {
    kLoop(state, count, choice.as<Clock>(), stop);
  }
  template <auto kLoop>
  static void limited(RankState& state, std::uint64_t count, std::uint64_t limit_ns,
                      const ClockChoice& choice, const StopFlag& stop) noexcept {
    kLoop(state, count, limit_ns, choice.as<Clock>(), stop);
  }
  static void wait(ibv_cq* cq) noexcept { typename P::Waiter{}(cq); }

  static constexpr RankLoops loops() {
    RankLoops of_policy{
        .serve = serve<P>, .time_barriers = counted<time_barriers<P>>, .wait = wait};
    if constexpr (P::kReceive == ReceiveMode::sized) {
      of_policy.collective = counted<collective<P>>;
    } else {
      of_policy.round_trip = limited<round_trip<P>>;
      of_policy.exchange = limited<exchange<P>>;
      of_policy.stream = limited<stream<P>>;
    }
    return of_policy;
  }
  static constexpr RankLoops kLoops = loops();
};

}  // namespace rdmameter
