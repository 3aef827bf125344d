// SPDX-License-Identifier: Apache-2.0
// The measured path of a receiver of bandwidth: takes arrivals, keeps the receive queues filled,
// and, where the receiver counts (UC, UD), times them from the arrival that ends the warm-up to the
// last one, and reads their numbers.
#pragma once

#include "core/engine/loop/bandwidth.h"

namespace rdmameter {

/// Told to finish, has the receiver everything? Either as many as were sent, or nothing for
/// a quiet time.
/// @param arrived  each message counted once
inline bool all_there(const LoopPlan& plan, std::uint64_t arrived,
                      std::uint64_t silent_ns) noexcept {
  return arrived >= plan.expected.load(std::memory_order_acquire) || silent_ns > plan.quiet_ns;
}

template <class Numbers, class P>
LoopResult receive(LoopState& loop_state, const LoopPlan& plan, const typename P::Clock& clock,
                   const StopFlag& stop, LoopTally& tally) noexcept {
  Arrivals& arrivals = loop_state.arrivals;
  [[maybe_unused]] const NumberReader<Numbers> reader{arrivals};
  std::uint64_t arrived = 0, opened_with = 0, opened_at = 0, last_at = clock.now(), polls = 0;
  bool open = false;
  LoopResult end;
  ibv_wc wcs[kCqeBatch];
  for (;;) {
    const int polled =
        P::Cq::template poll<Numbers::kImmediate>(P::Cq::of(loop_state.recv_cq), kCqeBatch, wcs);
    ++polls;
    if (polled <= 0) {
      if (polled < 0) [[unlikely]] {
        end = {.why = LoopResult::Why::poll_failed, .error = polled};
        break;
      }
      const StopReason reason = stop.reason();
      if (reason == StopReason::finish) [[unlikely]] {
        if (all_there(plan, arrived - arrivals.duplicated, clock.to_ns(clock.now() - last_at)))
          break;
      } else if (reason != StopReason::none) [[unlikely]] {
        end = {.why = LoopResult::Why::stopped};
        break;
      }
      if constexpr (kCredited<Numbers>) {
        if (loop_state.credits_under_way != 0) {  // and another may be due behind one
          end = retire_credits<P>(loop_state);
          if (end.why != LoopResult::Why::done) [[unlikely]]
            break;
          wait_awake<P>(P::Cq::of(loop_state.recv_cq));
          continue;
        }
      }
      typename P::Waiter{}(P::Cq::of(loop_state.recv_cq));
      continue;
    }
    last_at = clock.now();
    for (int i = 0; i < polled; ++i) {
      int error = 0;
      if (wcs[i].status == IBV_WC_SUCCESS) [[likely]] {
        if constexpr (Numbers::kNumbered) reader.note(wcs[i]);
        RecvRing& ring = *receive_of(wcs[i]).ring;
        error = replenish(ring);
        if constexpr (kCredited<Numbers>)
          if (error == 0 && ring.left == ring.list_length) error = grant(loop_state, ring);
      }
      if (wcs[i].status != IBV_WC_SUCCESS || error != 0) [[unlikely]] {
        end = error != 0 ? post_failure(error) : no_completion(1, wcs[i]);
        break;
      }
    }
    if (end.why != LoopResult::Why::done) [[unlikely]]
      break;
    if constexpr (kCredited<Numbers>) {
      if (loop_state.credits_under_way != 0) end = retire_credits<P>(loop_state);
      if (end.why != LoopResult::Why::done) [[unlikely]]
        break;
    }
    arrived += static_cast<std::uint64_t>(polled);
    tally.progress.store(arrived, std::memory_order_relaxed);
    if (!open && arrived >= plan.warmup) [[unlikely]] {
      open = true;
      opened_with = arrived - arrivals.duplicated;
      opened_at = last_at;
    }
  }
  tally.total = arrived;
  tally.duplicated = arrivals.duplicated;
  tally.reordered = arrivals.reordered;
  tally.operations = open ? arrived - arrivals.duplicated - opened_with : 0;
  tally.elapsed_ns = open ? clock.to_ns(last_at - opened_at) : 0;
  tally.polls = polls;
  return end;
}

}  // namespace rdmameter
