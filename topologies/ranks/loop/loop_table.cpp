// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/loop/loop_table.h"

#include "topologies/ranks/loop/loop_table_instance.h"

namespace rdmameter {
namespace {

template <ReceiveMode kReceive>
const RankLoops& by_wait(bool yielding, ClockChoice::Kind clock) {
  if (clock == ClockChoice::Kind::counter)
    return yielding ? RankLoopInstance<RankPolicy<CounterClock, YieldWait, kReceive>>::kLoops
                    : RankLoopInstance<RankPolicy<CounterClock, SpinWait, kReceive>>::kLoops;
  return yielding ? RankLoopInstance<RankPolicy<KernelClock, YieldWait, kReceive>>::kLoops
                  : RankLoopInstance<RankPolicy<KernelClock, SpinWait, kReceive>>::kLoops;
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
    case ReceiveMode::labelled:
      return by_wait<ReceiveMode::labelled>(yielding, clock);
    case ReceiveMode::datagram:
      break;
  }
  return by_wait<ReceiveMode::datagram>(yielding, clock);
}

}  // namespace rdmameter
