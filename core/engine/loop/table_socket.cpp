// SPDX-License-Identifier: Apache-2.0
#include <array>

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

/// By wait: see place_of().
template <Pattern kPattern, Role kRole, class Clock>
constexpr std::array<SocketLoop, 3> kByWait = {run<kPattern, kRole, Clock, Spin>,
                                               run<kPattern, kRole, Clock, Yield>,
                                               run<kPattern, kRole, Clock, Sleep>};

/// [clock is the CPU's counter][wait]
template <Pattern kPattern, Role kRole>
constexpr std::array kLoops = {kByWait<kPattern, kRole, KernelClock>,
                               kByWait<kPattern, kRole, CounterClock>};

}  // namespace

SocketLoop choose_socket_loop(Pattern pattern, Role role, Wait wait, ClockChoice::Kind clock) {
  const bool initiator = role == Role::initiator;
  const auto& bandwidth = initiator ? kLoops<Pattern::bandwidth, Role::initiator>
                                    : kLoops<Pattern::bandwidth, Role::responder>;
  const auto& ping_pong = initiator ? kLoops<Pattern::ping_pong, Role::initiator>
                                    : kLoops<Pattern::ping_pong, Role::responder>;
  const auto& loops = pattern == Pattern::bandwidth ? bandwidth : ping_pong;
  return loops[clock == ClockChoice::Kind::counter ? 1 : 0][place_of(wait)];
}

}  // namespace rdmameter
