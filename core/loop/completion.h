// SPDX-License-Identifier: Apache-2.0
// The measured path of completion latency: one WR at a time, from just before the post to just
// after its CQE is seen, undivided. The other end takes no part.
#pragma once

#include "core/loop/step.h"

namespace rdmameter {

template <class Clock, class Waiter>
LoopEnd complete_rounds(Traffic& traffic, const Clock& clock, std::uint64_t rounds,
                        std::uint64_t duration_ticks, const StopWord& stop, Histogram& histogram,
                        LoopTally& tally) {
  Lane& lane = traffic.lanes[0];
  LoopEnd end;
  ibv_wc wc;
  std::uint64_t polls = 0, round = 0;
  const std::uint64_t start = clock.now();
  std::uint64_t seen = start;
  for (; round < rounds; ++round) {
    const std::uint64_t sent = clock.now();
    if (sent - start >= duration_ticks) [[unlikely]]
      break;
    if (const int error = post_next(lane); error != 0) [[unlikely]] {
      end = {.why = LoopEnd::Why::post_failed, .error = error};
      break;
    }
    const int polled = await_completion<Waiter>(traffic.send_cq, wc, stop, polls);
    seen = clock.now();
    if (polled <= 0 || wc.status != IBV_WC_SUCCESS) [[unlikely]] {
      end = no_completion(polled, wc);
      break;
    }
    histogram.record(clock.to_ns(seen - sent));
    tally.progress.store(round + 1, std::memory_order_relaxed);
  }
  tally.operations = round;
  tally.total += round;
  tally.polls = polls;
  tally.elapsed_ns = clock.to_ns(seen - start);
  return end;
}

template <class Clock, class Waiter>
LoopEnd completion_initiator(Traffic& traffic, const LoopPlan& plan, const Clock& clock,
                             const StopWord& stop, LoopTally& tally) {
  constexpr std::uint64_t kEver = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t duration = plan.duration_ns == 0 ? kEver : clock.to_ticks(plan.duration_ns);
  const LoopEnd warm = complete_rounds<Clock, Waiter>(traffic, clock, plan.warmup, kEver, stop,
                                                      *tally.scratch, tally);
  if (warm.why != LoopEnd::Why::done) {
    tally.operations = 0;
    return warm;
  }
  return complete_rounds<Clock, Waiter>(traffic, clock, plan.operations, duration, stop,
                                        *tally.latency, tally);
}

}  // namespace rdmameter
