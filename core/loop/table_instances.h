// SPDX-License-Identifier: Apache-2.0
// Every policy's instance of a measured loop, as one table; each file that includes this compiles
// some of the loops.
#pragma once

#include <array>

#include "core/clock.h"
#include "core/loop/step.h"
#include "core/loop/table.h"

namespace rdmameter {

/// [clock is the CPU's counter][wait][api][cq]
using Instances = std::array<std::array<std::array<std::array<MeasuredLoop, 2>, 2>, 3>, 2>;

namespace instances {

template <class Clock>
Clock make_clock(const ClockChoice& choice) {
  if constexpr (std::is_same_v<Clock, CounterClock>)
    return choice.counter;
  else
    return {};
}

/// A loop is a type whose kRun<Policy> is an instance of it.
template <class Loop, class P>
LoopEnd run(Traffic& traffic, const LoopPlan& plan, const ClockChoice& choice, const StopWord& stop,
            LoopTally& tally) {
  const auto clock = make_clock<typename P::Clock>(choice);
  return Loop::template kRun<P>(traffic, plan, clock, stop, tally);
}

template <class Loop, class Clock, class Waiter>
constexpr std::array<std::array<MeasuredLoop, 2>, 2> kByInterface = {{
    {run<Loop, Policy<Clock, Waiter, ClassicPost, ClassicCq>>,
     run<Loop, Policy<Clock, Waiter, ClassicPost, ExtendedCq>>},
    {run<Loop, Policy<Clock, Waiter, ExtendedPost, ClassicCq>>,
     run<Loop, Policy<Clock, Waiter, ExtendedPost, ExtendedCq>>},
}};

template <class Loop, class Clock>
constexpr std::array<std::array<std::array<MeasuredLoop, 2>, 2>, 3> kByWait = {
    kByInterface<Loop, Clock, SpinWait>, kByInterface<Loop, Clock, YieldWait>,
    kByInterface<Loop, Clock, EventWait>};

}  // namespace instances

template <class Loop>
constexpr Instances kInstances = {instances::kByWait<Loop, KernelClock>,
                                  instances::kByWait<Loop, CounterClock>};

// Where each loop is compiled.
const Instances& ping_instances(const Case& one_case);
const Instances& pong_instances(const Case& one_case);
const Instances& completion_instances();
const Instances& bandwidth_instances();
const Instances& receive_instances();

}  // namespace rdmameter
