// SPDX-License-Identifier: Apache-2.0
#include "core/control/timed_calls.h"

#include <cerrno>

#include "core/base/cpu_time.h"
#include "core/base/error.h"
#include "core/engine/loop/step.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

struct Sample {
  std::uint64_t call_ns, cpu_ns;
};

template <class Clock>
Sample time_one(ControlCall& verb, const Clock& clock, const StopFlag& interrupt) {
  if (interrupt.requested()) throw Interrupted("interrupted");
  verb.prepare();
  errno = 0;
  const std::uint64_t cpu_before = thread_cpu_ns();
  const std::uint64_t before = clock.now();
  const int error = verb.call();
  const std::uint64_t after = clock.now();
  const std::uint64_t cpu_after = thread_cpu_ns();
  if (error != 0) verb.fail(error);
  verb.undo();
  return {clock.to_ns(after - before), cpu_after - cpu_before};
}

template <class Clock>
CallTally time_all(ControlCall& verb, const LoopPlan& plan, const Clock& clock,
                   const StopFlag& interrupt, Histogram& latency,
                   std::atomic<std::uint64_t>& progress) {
  for (std::uint64_t i = 0; i < plan.warmup; ++i) time_one(verb, clock, interrupt);
  CallTally tally;
  const std::uint64_t end = end_of(clock.now(), plan.duration_ns, clock);
  while (tally.calls < plan.operations && clock.now() < end) {
    if (tally.calls != 0 && interrupt.requested()) break;
    const Sample sample = time_one(verb, clock, interrupt);
    latency.record(sample.call_ns);
    progress.store(++tally.calls, std::memory_order_relaxed);
    tally.elapsed_ns += sample.call_ns;
    tally.cpu_ns += sample.cpu_ns;
  }
  return tally;
}

}  // namespace

void ControlCall::fail(int error) const {
  throw_failure(verb(), object(), error);
}

CallTally time_calls(ControlCall& verb, const LoopPlan& plan, const ClockChoice& clock,
                     const StopFlag& interrupt, Histogram& latency,
                     std::atomic<std::uint64_t>& progress) {
  if (clock.kind == ClockChoice::Kind::counter)
    return time_all(verb, plan, clock.counter, interrupt, latency, progress);
  return time_all(verb, plan, KernelClock{}, interrupt, latency, progress);
}

}  // namespace rdmameter
