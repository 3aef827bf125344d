// SPDX-License-Identifier: Apache-2.0
// The measured path of completion latency: one WR at a time, from just before the post to just
// after its CQE is seen, undivided. The other end takes no part.
#pragma once

#include "core/engine/loop/credit.h"
#include "core/engine/loop/poll_watch.h"
#include "core/engine/loop/step.h"

namespace rdmameter {

/// All QPs as one; EachQp<AllQps>: and each by itself.
struct AllQps {};

/// `rounds` WRs, or WRs until the duration is over. Adds to `tally`; samples go to `histogram`.
template <class Qps, class P>
LoopResult complete_rounds(LoopState& loop_state, const typename P::Clock& clock,
                           std::uint64_t rounds, std::uint64_t duration_ns, const StopFlag& stop,
                           Histogram& histogram, LoopTally& tally) noexcept {
  const typename P::Cq::Handle cq = P::Cq::of(loop_state.send_cq);
  SendList* list = loop_state.lanes[0].send;
  const std::uint64_t first = tally.operations, end_round = first + rounds;
  std::uint64_t round = first;
  Waits waits;
  LoopResult end;
  ibv_wc wc;
  const std::uint64_t start = clock.now();
  const std::uint64_t last = end_of(start, duration_ns, clock);
  for (; round < end_round; ++round) {
    if constexpr (kCredited<Qps>) {
      if (!await_credit<P>(loop_state, *list->lane->credit, stop)) [[unlikely]] {
        end = {.why = LoopResult::Why::stopped};
        break;
      }
    }
    const std::uint64_t sent = clock.now();
    if (sent >= last) [[unlikely]]
      break;
    if (const int error = P::Post::post(loop_state, *list->lane, list->head); error != 0)
        [[unlikely]] {
      end = post_failure(error);
      break;
    }
    if constexpr (kCredited<Qps>) ++list->lane->credit->sent;
    std::uint64_t posted = 0;
    if constexpr (P::Cq::kStamps) posted = clock.now();
    std::uint64_t seen = sent;
    if constexpr (kWatched<Qps>) {
      waits.polled =
          found(wc, watched_sample<P>(loop_state.watch, clock, round, cq, stop, waits.empties, sent,
                                      seen, [cq, &wc] { return P::Cq::poll(cq, 1, &wc); }));
    } else {
      await_completion<P>(cq, wc, stop, waits);
      seen = clock.now();
    }
    if (wc.status != IBV_WC_SUCCESS) [[unlikely]] {
      end = no_completion(waits.polled, wc);
      break;
    }
    histogram.record(clock.to_ns(seen - sent));
    if constexpr (kPerQp<Qps>) list->lane->samples->record(clock.to_ns(seen - sent));
    if constexpr (P::Cq::kStamps)
      keep(loop_state.timestamps, {sent, posted, loop_state.send_cq.completed_at, seen});
    tally.progress.store(round + 1, std::memory_order_relaxed);
    list = list->next;
  }
  loop_state.lanes[0].send = list;
  tally.operations = round;
  tally.total += round - first;
  tally.cqes += round - first;
  tally.polls += waits.empties + round - first;
  tally.elapsed_ns += clock.to_ns(clock.now() - start);
  return end;
}

template <class Qps, class P>
LoopResult completion_initiator(LoopState& loop_state, const LoopPlan& plan,
                                const typename P::Clock& clock, const StopFlag& stop,
                                LoopTally& tally) noexcept {
  const LoopResult warm =
      complete_rounds<Qps, P>(loop_state, clock, plan.warmup, 0, stop, *tally.scratch, tally);
  if (warm.why != LoopResult::Why::done) {
    tally.operations = 0;
    return warm;
  }
  forget_warm_up(loop_state);
  if constexpr (kWatched<Qps>) loop_state.watch->begin(*tally.scratch, plan.warmup, clock);
  return measure(plan, tally, [&](std::uint64_t rounds, std::uint64_t duration_ns) {
    return complete_rounds<Qps, P>(loop_state, clock, rounds, duration_ns, stop, *tally.latency,
                                   tally);
  });
}

}  // namespace rdmameter
