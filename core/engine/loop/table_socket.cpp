// SPDX-License-Identifier: Apache-2.0
#include "core/engine/loop/socket.h"
#include "core/engine/loop/table.h"

namespace rdmameter {
namespace {

using namespace sockets;

template <Pattern kPattern, Role kRole, class Clock, class Waiter>
LoopResult run(SocketState& loop_state, const LoopPlan& plan, const ClockChoice& choice,
               const StopFlag& stop, LoopTally& tally) {
  constexpr bool kInitiator = kRole == Role::initiator;
  const auto clock = choice.as<Clock>();
  if constexpr (kPattern == Pattern::bandwidth && kInitiator)
    return stream_initiator<Clock, Waiter>(loop_state, plan, clock, stop, tally);
  else if constexpr (kPattern == Pattern::bandwidth)
    return stream_responder<Clock, Waiter>(loop_state, plan, clock, stop, tally);
  else if constexpr (kInitiator)
    return ping_initiator<Clock, Waiter>(loop_state, plan, clock, stop, tally);
  else
    return ping_responder<Clock, Waiter>(loop_state, plan, clock, stop, tally);
}

template <Pattern kPattern, Role kRole, class Waiter>
SocketLoop by_clock(ClockChoice::Kind clock) {
  return clock == ClockChoice::Kind::counter ? run<kPattern, kRole, CounterClock, Waiter>
                                             : run<kPattern, kRole, KernelClock, Waiter>;
}

template <Pattern kPattern, Role kRole>
SocketLoop by_wait(Wait wait, ClockChoice::Kind clock) {
  switch (wait) {
    case Wait::automatic:
    case Wait::spin:
      return by_clock<kPattern, kRole, Spin>(clock);
    case Wait::yield:
      return by_clock<kPattern, kRole, Yield>(clock);
    case Wait::event:
      return by_clock<kPattern, kRole, Sleep>(clock);
  }
  return nullptr;
}

}  // namespace

SocketLoop choose_socket_loop(Pattern pattern, Role role, Wait wait, ClockChoice::Kind clock) {
  const bool initiator = role == Role::initiator;
  if (pattern == Pattern::bandwidth)
    return initiator ? by_wait<Pattern::bandwidth, Role::initiator>(wait, clock)
                     : by_wait<Pattern::bandwidth, Role::responder>(wait, clock);
  return initiator ? by_wait<Pattern::ping_pong, Role::initiator>(wait, clock)
                   : by_wait<Pattern::ping_pong, Role::responder>(wait, clock);
}

}  // namespace rdmameter
