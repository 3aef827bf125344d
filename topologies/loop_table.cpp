// SPDX-License-Identifier: Apache-2.0
#include "topologies/loop_table.h"

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
                       const StopWord& stop, RankTally& tally) noexcept {
    time_barriers<P>(work, count, clock_of<Clock>(choice), stop, tally);
  }
  static void walks(RankWork& work, std::uint64_t rounds, std::uint64_t loss_ns,
                    const ClockChoice& choice, const StopWord& stop, RankTally& tally) noexcept {
    walk<P>(work, rounds, loss_ns, clock_of<Clock>(choice), stop, tally);
  }
  static void exchanges(RankWork& work, std::uint64_t count, std::uint64_t loss_ns,
                        const ClockChoice& choice, const StopWord& stop,
                        RankTally& tally) noexcept {
    exchange<P>(work, count, loss_ns, clock_of<Clock>(choice), stop, tally);
  }
  static void streams(RankWork& work, std::uint64_t count, std::uint64_t quiet_ns,
                      const ClockChoice& choice, const StopWord& stop, RankTally& tally) noexcept {
    stream<P>(work, count, quiet_ns, clock_of<Clock>(choice), stop, tally);
  }

  static constexpr RankLoops kLoops{serve<P>, barriers, walks, exchanges, streams};
};

template <Inbox kInbox>
const RankLoops& by_wait(bool yielding, ClockChoice::Kind clock) {
  if (clock == ClockChoice::Kind::counter)
    return yielding ? Instance<RankPolicy<CounterClock, YieldWait, kInbox>>::kLoops
                    : Instance<RankPolicy<CounterClock, SpinWait, kInbox>>::kLoops;
  return yielding ? Instance<RankPolicy<KernelClock, YieldWait, kInbox>>::kLoops
                  : Instance<RankPolicy<KernelClock, SpinWait, kInbox>>::kLoops;
}

}  // namespace

const RankLoops& choose_rank_loops(Inbox inbox, bool yielding, ClockChoice::Kind clock) {
  switch (inbox) {
    case Inbox::own:
      return by_wait<Inbox::own>(yielding, clock);
    case Inbox::shared:
      return by_wait<Inbox::shared>(yielding, clock);
    case Inbox::none:
      return by_wait<Inbox::none>(yielding, clock);
    case Inbox::datagram:
      break;
  }
  return by_wait<Inbox::datagram>(yielding, clock);
}

}  // namespace rdmameter
