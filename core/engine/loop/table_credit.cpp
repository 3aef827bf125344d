// SPDX-License-Identifier: Apache-2.0
// Each posts and polls by the functions that the case has chosen: credits take longer
// than these calls.
#include "core/engine/loop/completion.h"
#include "core/engine/loop/receive.h"
#include "core/engine/loop/table_instances.h"

namespace rdmameter {
namespace {

template <class Numbers>
struct Bandwidth {
  template <class P>
  static constexpr auto kRun = bandwidth_initiator<Numbers, P>;
};

template <class Qps>
struct Completion {
  static constexpr bool kStamps = !kPerQp<Qps>;
  template <class P>
  static constexpr auto kRun = completion_initiator<Qps, P>;
};

struct Receive {
  template <class P>
  static constexpr auto kRun = receive<Credited<Unnumbered>, P>;
};

template <class Loop>
constexpr MeasuredLoop kSpinning =
    instances::run<Loop, Policy<CounterClock, SpinWait, ChosenPost, ChosenCq>>;

template <class Loop>
constexpr Instances kByPointer = {
    {{{kSpinning<Loop>, kSpinning<Loop>}, {kSpinning<Loop>, kSpinning<Loop>}}},
    {instances::kByWait<Loop, KernelClock>, instances::kByWait<Loop, CounterClock>}};

}  // namespace

const Instances& credited_instances(const TestCase& test_case, Role role) {
  using EachOne = EachQp<Unnumbered>;
  if (role == Role::responder) return kByPointer<Receive>;
  if (test_case.pattern == Pattern::completion_latency)
    return keeps_each_qp(test_case) ? kByPointer<Completion<Credited<EachQp<AllQps>>>>
                                    : kByPointer<Completion<Credited<AllQps>>>;
  return test_case.peak ? kByPointer<Bandwidth<Timed<Credited<EachOne>>>>
                        : kByPointer<Bandwidth<Credited<EachOne>>>;
}

}  // namespace rdmameter
