// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/loop/loop_table.h"

namespace rdmameter {
namespace {

template <class Clock>
Clock clock_of(const ClockChoice& choice);
template <>
CounterClock clock_of<CounterClock>(const ClockChoice& choice) {
  return choice.counter;
}
template <>
KernelClock clock_of<KernelClock>(const ClockChoice&) {
  return {};
}

template <class P>
struct Instance {
  using Clock = typename P::Clock;

  static void barriers(RankWork& work, std::uint64_t count, const ClockChoice& choice,
                       const StopFlag& stop, RankTally& tally) noexcept {
    time_barriers<P>(work, count, clock_of<Clock>(choice), stop, tally);
  }
  static void round_trips(RankWork& work, std::uint64_t rounds, std::uint64_t loss_ns,
                          const ClockChoice& choice, const StopFlag& stop,
                          RankTally& tally) noexcept {
    round_trip<P>(work, rounds, loss_ns, clock_of<Clock>(choice), stop, tally);
  }
  static void exchanges(RankWork& work, std::uint64_t count, std::uint64_t loss_ns,
                        const ClockChoice& choice, const StopFlag& stop,
                        RankTally& tally) noexcept {
    exchange<P>(work, count, loss_ns, clock_of<Clock>(choice), stop, tally);
  }
  static void streams(RankWork& work, std::uint64_t count, std::uint64_t quiet_ns,
                      const ClockChoice& choice, const StopFlag& stop, RankTally& tally) noexcept {
    stream<P>(work, count, quiet_ns, clock_of<Clock>(choice), stop, tally);
  }

  static void collectives(RankWork& work, std::uint64_t count, const ClockChoice& choice,
                          const StopFlag& stop, RankTally& tally) noexcept {
    collective<P>(work, count, clock_of<Clock>(choice), stop, tally);
  }

  static constexpr RankLoops loops() {
    if constexpr (P::kReceive == ReceiveMode::sized)
      return {serve<P>, barriers, nullptr, nullptr, nullptr, collectives};
    else
      return {serve<P>, barriers, round_trips, exchanges, streams, nullptr};
  }
  static constexpr RankLoops kLoops = loops();
};

template <ReceiveMode kReceive>
const RankLoops& by_wait(bool yielding, ClockChoice::Kind clock) {
  if (clock == ClockChoice::Kind::counter)
    return yielding ? Instance<RankPolicy<CounterClock, YieldWait, kReceive>>::kLoops
                    : Instance<RankPolicy<CounterClock, SpinWait, kReceive>>::kLoops;
  return yielding ? Instance<RankPolicy<KernelClock, YieldWait, kReceive>>::kLoops
                  : Instance<RankPolicy<KernelClock, SpinWait, kReceive>>::kLoops;
}

}  // namespace

const RankLoops& choose_rank_loops(ReceiveMode receive_mode, bool yielding,
                                   ClockChoice::Kind clock) {
  switch (receive_mode) {
    case ReceiveMode::own:
      return by_wait<ReceiveMode::own>(yielding, clock);
    case ReceiveMode::shared:
      return by_wait<ReceiveMode::shared>(yielding, clock);
    case ReceiveMode::none:
      return by_wait<ReceiveMode::none>(yielding, clock);
    case ReceiveMode::sized:
      return by_wait<ReceiveMode::sized>(yielding, clock);
    case ReceiveMode::datagram:
      break;
  }
  return by_wait<ReceiveMode::datagram>(yielding, clock);
}

}  // namespace rdmameter
