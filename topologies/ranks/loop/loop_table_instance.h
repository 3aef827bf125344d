// SPDX-License-Identifier: Apache-2.0
// The measured loops of one policy, as the table has them.
#pragma once

#include "topologies/ranks/loop/collective_loop.h"
#include "topologies/ranks/loop/loop_table.h"
#include "topologies/ranks/loop/loops.h"

namespace rdmameter {

/// Specialised for each clock that there are instances for.
template <class Clock>
Clock clock_of(const ClockChoice& choice);
template <>
inline CounterClock clock_of<CounterClock>(const ClockChoice& choice) {
  return choice.counter;
}
template <>
inline KernelClock clock_of<KernelClock>(const ClockChoice&) {
  return {};
}

template <class P>
struct RankLoopInstance {
  using Clock = typename P::Clock;

  static void barriers(RankState& state, std::uint64_t count, const ClockChoice& choice,
                       const StopFlag& stop) noexcept {
    time_barriers<P>(state, count, clock_of<Clock>(choice), stop);
  }
  static void round_trips(RankState& state, std::uint64_t rounds, std::uint64_t loss_ns,
                          const ClockChoice& choice, const StopFlag& stop) noexcept {
    round_trip<P>(state, rounds, loss_ns, clock_of<Clock>(choice), stop);
  }
  static void exchanges(RankState& state, std::uint64_t count, std::uint64_t loss_ns,
                        const ClockChoice& choice, const StopFlag& stop) noexcept {
    exchange<P>(state, count, loss_ns, clock_of<Clock>(choice), stop);
  }
  static void streams(RankState& state, std::uint64_t count, std::uint64_t quiet_ns,
                      const ClockChoice& choice, const StopFlag& stop) noexcept {
    stream<P>(state, count, quiet_ns, clock_of<Clock>(choice), stop);
  }

  static void collectives(RankState& state, std::uint64_t count, const ClockChoice& choice,
                          const StopFlag& stop) noexcept {
    collective<P>(state, count, clock_of<Clock>(choice), stop);
  }

  static void wait(ibv_cq* cq) noexcept { typename P::Waiter{}(cq); }

  static constexpr RankLoops loops() {
    if constexpr (P::kReceive == ReceiveMode::sized)
      return {serve<P>, barriers, nullptr, nullptr, nullptr, collectives, wait};
    else
      return {serve<P>, barriers, round_trips, exchanges, streams, nullptr, wait};
  }
  static constexpr RankLoops kLoops = loops();
};

}  // namespace rdmameter
