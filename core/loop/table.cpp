// SPDX-License-Identifier: Apache-2.0
#include "core/loop/table.h"

#include <array>

#include "core/loop/bandwidth.h"
#include "core/loop/completion.h"
#include "core/loop/ping_pong.h"
#include "core/loop/receive.h"
#include "core/loop/wait.h"

namespace rdmameter {
namespace {

template <class Clock>
Clock make_clock(const ClockChoice& choice);
template <>
CounterClock make_clock<CounterClock>(const ClockChoice& choice) {
  return choice.counter;
}
template <>
KernelClock make_clock<KernelClock>(const ClockChoice&) {
  return {};
}

/// Each loop as a type whose run<Clock, Waiter>() is an instance of it.
template <class By, bool Lossy>
struct Ping {
  template <class Clock, class Waiter>
  static constexpr auto kRun = ping_pong_initiator<By, Lossy, Clock, Waiter>;
};
template <class By, bool Lossy>
struct Pong {
  template <class Clock, class Waiter>
  static constexpr auto kRun = ping_pong_responder<By, Lossy, Clock, Waiter>;
};
struct Completion {
  template <class Clock, class Waiter>
  static constexpr auto kRun = completion_initiator<Clock, Waiter>;
};
struct Bandwidth {
  template <class Clock, class Waiter>
  static constexpr auto kRun = bandwidth_initiator<Clock, Waiter>;
};
struct Receive {
  template <class Clock, class Waiter>
  static constexpr auto kRun = receive<Clock, Waiter>;
};

template <class Loop, class Clock, class Waiter>
LoopEnd run(Traffic& traffic, const LoopPlan& plan, const ClockChoice& choice, const StopWord& stop,
            LoopTally& tally) {
  const Clock clock = make_clock<Clock>(choice);
  return Loop::template kRun<Clock, Waiter>(traffic, plan, clock, stop, tally);
}

/// [clock is the CPU's counter][wait yields]
using Instances = std::array<std::array<MeasuredLoop, 2>, 2>;

template <class Loop>
constexpr Instances kInstances = {{
    {run<Loop, KernelClock, SpinWait>, run<Loop, KernelClock, YieldWait>},
    {run<Loop, CounterClock, SpinWait>, run<Loop, CounterClock, YieldWait>},
}};

template <template <class, bool> class Loop>
const Instances& ping_pong_instances(bool by_receive, bool lossy) {
  if (by_receive)
    return lossy ? kInstances<Loop<ByReceive, true>> : kInstances<Loop<ByReceive, false>>;
  return lossy ? kInstances<Loop<ByMemory, true>> : kInstances<Loop<ByMemory, false>>;
}

const Instances* instances_for(const Case& one_case, Role role) {
  const bool by_receive = !one_case.one_sided();
  const bool lossy = !one_case.reliable();
  switch (one_case.shape()) {
    case Pattern::ping_pong:
      return role == Role::initiator ? &ping_pong_instances<Ping>(by_receive, lossy)
                                     : &ping_pong_instances<Pong>(by_receive, lossy);
    case Pattern::completion_latency:
      return role == Role::initiator ? &kInstances<Completion> : nullptr;
    case Pattern::bandwidth:
      if (role == Role::initiator) return &kInstances<Bandwidth>;
      return by_receive ? &kInstances<Receive> : nullptr;
  }
  return nullptr;
}

}  // namespace

MeasuredLoop choose_loop(const Case& one_case, Role role, Wait wait, ClockChoice::Kind clock) {
  const Instances* instances = instances_for(one_case, role);
  if (instances == nullptr) return nullptr;
  return (*instances)[clock == ClockChoice::Kind::counter ? 1 : 0][wait == Wait::yield ? 1 : 0];
}

}  // namespace rdmameter
