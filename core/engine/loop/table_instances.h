// SPDX-License-Identifier: Apache-2.0
// Every policy's instance of a measured loop, as one table; each file that includes this compiles
// some of the loops.
#pragma once

#include <array>
#include <type_traits>

#include "core/engine/layout/layout.h"
#include "core/engine/loop/numbers.h"
#include "core/engine/loop/step.h"
#include "core/engine/loop/table.h"
#include "core/instrument/clock.h"

namespace rdmameter {

/// [interface of posting][of polling]: ibv_post_send, ibv_wr_*; ibv_poll_cq, ibv_start_poll
using DirectCalls = std::array<std::array<MeasuredLoop, 2>, 2>;
/// [clock is the CPU's counter][wait][with timestamps]
using ChosenCalls = std::array<std::array<std::array<MeasuredLoop, 2>, 3>, 2>;

/// The instances of one loop. Where the clock is the CPU's counter and the loop spins, each
/// instruction shows, and there is an instance for each interface. Beside another clock's reading,
/// a yield or a sleep a call by pointer is little: there, with several CQs, and with timestamps the
/// loop posts and polls by the functions of LoopState and CqRing: a third of the instances
/// for the compiler.
struct Instances {
  DirectCalls direct;
  ChosenCalls chosen;
};

namespace instances {

/// A loop is a type whose kRun<Policy> is an instance of it. One whose kStamps is true keeps
/// timestamps where the policy has them.
template <class Loop, class P>
LoopResult run(LoopState& loop_state, const LoopPlan& plan, const ClockChoice& choice,
               const StopFlag& stop, LoopTally& tally) {
  const auto clock = choice.as<typename P::Clock>();
  return Loop::template kRun<P>(loop_state, plan, clock, stop, tally);
}

template <class Loop, class Post>
constexpr DirectCalls::value_type kDirect = {
    run<Loop, Policy<CounterClock, SpinWait, Post, ClassicCq>>,
    run<Loop, Policy<CounterClock, SpinWait, Post, ExtendedCq>>};

/// False, too, of a loop that has no kStamps.
template <class Loop>
concept Stamping = Loop::kStamps;

template <class Loop, class Clock, class Waiter>
constexpr std::array<MeasuredLoop, 2> kChosen = {
    run<Loop, Policy<Clock, Waiter, ChosenPost, ChosenCq>>,
    run<Loop, Policy<Clock, Waiter, ChosenPost,
                     std::conditional_t<Stamping<Loop>, StampedCq, ChosenCq>>>};

template <class Loop, class Clock>
constexpr ChosenCalls::value_type kByWait = {kChosen<Loop, Clock, SpinWait>,
                                             kChosen<Loop, Clock, YieldWait>,
                                             kChosen<Loop, Clock, EventWait>};

}  // namespace instances

template <class Loop>
constexpr Instances kInstances = {
    {instances::kDirect<Loop, ClassicPost>, instances::kDirect<Loop, ChosenPost>},
    {instances::kByWait<Loop, KernelClock>, instances::kByWait<Loop, CounterClock>}};

/// The instances of a bandwidth's loop by where its messages have their numbers.
/// @tparam Without  the policy where they have none
template <template <class> class Loop, class Without = Unnumbered>
const Instances& instances_by(NumberPlace numbers) {
  switch (numbers) {
    case NumberPlace::none:
      return kInstances<Loop<Without>>;
    case NumberPlace::payload:
      return kInstances<Loop<NumberedPayload>>;
    case NumberPlace::immediate:
      return kInstances<Loop<NumberedImmediate>>;
  }
  return kInstances<Loop<Without>>;
}

// Where each loop is compiled.
const Instances& ping_instances(const TestCase& test_case);
const Instances& ping_instances_per_qp(const TestCase& test_case);
const Instances& pong_instances(const TestCase& test_case);
/// @return nullptr where this end takes no part
const Instances* watched_instances(const TestCase& test_case, Role role);
const Instances& completion_instances(bool per_qp);
/// @param per_qp  of messages without numbers
const Instances& bandwidth_instances(NumberPlace numbers, bool per_qp);
const Instances& timed_bandwidth_instances(NumberPlace numbers);
const Instances& receive_instances(NumberPlace numbers);
/// The instances for sends that wait for receives: a bandwidth, a completion latency,
/// and the receiver.
const Instances& credited_instances(const TestCase& test_case, Role role);
const Instances& sharer_instances(Pattern pattern);
const Instances& open_loop_instances(const TestCase& test_case, bool per_qp);
const Instances& answer_instances();

}  // namespace rdmameter
