// SPDX-License-Identifier: Apache-2.0
// The steps that every measured loop is made of. Part of the measured path: they are inlined into
// it, and keep what they can in registers.
#pragma once

#include "core/base/stop.h"
#include "core/engine/loop/loop_state.h"
#include "core/engine/loop/verbs.h"
#include "core/engine/loop/wait.h"

namespace rdmameter {

inline constexpr int kCqeBatch = 16;  ///< the most CQEs that one poll takes

/// The choices for a run that cost nothing within it: a loop is an instance for one policy.
template <class TheClock, class TheWaiter, class ThePost, class TheCq>
struct Policy {
  using Clock = TheClock;
  using Waiter = TheWaiter;
  using Post = ThePost;
  using Cq = TheCq;
};

[[gnu::cold]] inline LoopResult post_failure(int error) noexcept {
  return {.why = LoopResult::Why::post_failed, .error = error};
}

/// Why no good completion came of a wait.
/// @param polled  what await_completion() returned
[[gnu::cold]] inline LoopResult no_completion(int polled, const ibv_wc& wc) noexcept {
  if (polled == 0) return {.why = LoopResult::Why::stopped};
  if (polled < 0) return {.why = LoopResult::Why::poll_failed, .error = polled};
  return {.why = LoopResult::Why::completion_failed,
          .status = wc.status,
          .vendor_err = wc.vendor_err,
          .qp_num = wc.qp_num};
}

/// Is there a good completion?
inline bool good(int polled, const ibv_wc& wc) noexcept {
  return polled > 0 && wc.status == IBV_WC_SUCCESS;
}

/// The state of waits for completions, one after the other.
struct Waits {
  std::uint64_t empties = 0;  ///< polls that found nothing
  int polled = 1;             ///< by the last one, as no_completion() reads it
  bool left = false;          ///< a send's completion, by reap(): it comes with the next one's
};

/// The part of await_completion() that waits. A function of its own: inlined, its loop would take
/// the registers of the loop around it.
template <class P, bool kImmediate>
[[gnu::noinline]] void keep_polling(int polled, typename P::Cq::Handle cq, ibv_wc& wc,
                                    const StopFlag& stop, Waits& waits) noexcept {
  while (polled == 0 && !stop.requested()) {
    ++waits.empties;
    typename P::Waiter{}(cq);
    polled = P::Cq::template poll<kImmediate>(cq, 1, &wc);
  }
  waits.polled = polled;
  if (polled <= 0) wc.status = IBV_WC_GENERAL_ERR;
}

/// Polls `cq` until one completion is there. Whether it is a good one, `wc.status` alone tells: so
/// a completion that is there at once takes one comparison.
/// @param waits  why there is none, where the status is bad
/// @tparam kImmediate  is the completion's immediate looked at?
template <class P, bool kImmediate = false>
[[gnu::always_inline]] inline void await_completion(typename P::Cq::Handle cq, ibv_wc& wc,
                                                    const StopFlag& stop, Waits& waits) noexcept {
  const int polled = P::Cq::template poll<kImmediate>(cq, 1, &wc);
  if (polled <= 0) [[unlikely]]
    keep_polling<P, kImmediate>(polled, cq, wc, stop, waits);
}

/// The part of reap() for a completion that is not there yet. Once the answer has come, the next
/// message may go: where a completion retires one WR, the queue has room for two.
template <class P>
[[gnu::noinline]] void leave_completion(int polled, LoopState& loop_state, ibv_wc& wc,
                                        const StopFlag& stop, Waits& waits) noexcept {
  const auto cq = P::Cq::of(loop_state.send_cq);
  if (polled != 0 || waits.left || loop_state.signal_every != 1)
    return keep_polling<P, false>(polled, cq, wc, stop, waits);
  ++waits.empties;
  waits.left = true;
  wc.status = IBV_WC_SUCCESS;
}

/// Takes a send's completion as await_completion() does, but leaves one that is not there yet,
/// unless the one before was left, too.
template <class P>
[[gnu::always_inline]] inline void reap(LoopState& loop_state, ibv_wc& wc, const StopFlag& stop,
                                        Waits& waits) noexcept {
  const int polled = P::Cq::poll(P::Cq::of(loop_state.send_cq), 1, &wc);
  if (polled <= 0) [[unlikely]]
    leave_completion<P>(polled, loop_state, wc, stop, waits);
}

/// Takes the completion that reap() has left, once no more are sent. A loop that was told to stop
/// looks for it for a while: its message was answered, so it is about to come.
template <class P>
[[gnu::noinline]] LoopResult take_left(LoopState& loop_state, const StopFlag& stop,
                                       Waits& waits) noexcept {
  constexpr std::uint64_t kLast = 1U << 16;  // polls
  const auto cq = P::Cq::of(loop_state.send_cq);
  ibv_wc wc{};
  int polled = 0;
  for (std::uint64_t tries = 0; polled == 0 && (tries < kLast || !stop.requested()); ++tries)
    polled = P::Cq::poll(cq, 1, &wc);
  waits.left = false;
  return good(polled, wc) ? LoopResult{} : no_completion(polled, wc);
}

/// The receive that completed.
inline RecvWork& receive_of(const ibv_wc& wc) noexcept {
  return *reinterpret_cast<RecvWork*>(wc.wr_id);
}

/// Posts the next list of receives. A function of its own, being rare.
/// @return 0 or the errno value
[[gnu::noinline]] inline int post_receives(RecvRing& ring) noexcept {
  ibv_recv_wr* bad;
  const RecvList* list = ring.next;
  ring.next = list->next;
  ring.left = ring.list_length;
  ++ring.lists;
  return ring.srq != nullptr ? ibv_post_srq_recv(ring.srq, list->head, &bad)
                             : ibv_post_recv(ring.qp, list->head, &bad);
}

/// Counts one receive as taken, and posts a list once a whole list's worth is gone.
/// @return 0 or the errno value
[[gnu::always_inline]] inline int replenish(RecvRing& ring) noexcept {
  if (--ring.left != 0) [[likely]]
    return 0;
  return post_receives(ring);
}

/// When a measured run that begins now ends [ticks]; never where iterations rule.
template <class Clock>
std::uint64_t end_of(std::uint64_t start, std::uint64_t duration_ns, const Clock& clock) noexcept {
  return duration_ns == 0 ? kNoEnd : start + clock.to_ticks(duration_ns);
}

/// A measured run begins now: sets when it ends, unless it has been told to end at once.
template <class Clock>
void set_end(LoopTally& tally, std::uint64_t start, std::uint64_t duration_ns,
             const Clock& clock) noexcept {
  std::uint64_t before = kNotBegun;
  tally.last_ticks.compare_exchange_strong(before, end_of(start, duration_ns, clock));
}

/// Has the run's time come, or has it been told to end?
[[gnu::always_inline]] inline bool over(const LoopTally& tally, std::uint64_t now) noexcept {
  return now >= tally.last_ticks.load(std::memory_order_relaxed);
}

/// The measured part of a latency, in slices: between them, not in the loop, the tally is asked
/// whether it is over.
/// @param part  of so many rounds, or so long [ns]; adds to the tally
template <class Part>
LoopResult measure(const LoopPlan& plan, LoopTally& tally, const Part& part) noexcept {
  constexpr std::uint64_t kSlice_ns = 50'000'000;
  tally.operations = tally.elapsed_ns = tally.lost = 0;  // a warm-up's
  std::uint64_t before = kNotBegun;
  tally.last_ticks.compare_exchange_strong(before, kNoEnd);
  IntervalLatencies* const series = tally.over_time;
  LoopResult end;
  while (end.why == LoopResult::Why::done && !over(tally, 0)) {
    const std::uint64_t rounds = plan.operations - tally.operations;
    const std::uint64_t left_ns =
        plan.duration_ns == 0 ? kSlice_ns
                              : plan.duration_ns - std::min(plan.duration_ns, tally.elapsed_ns);
    if (rounds == 0 || left_ns == 0) break;
    const std::uint64_t slice_ns =
        series == nullptr ? kSlice_ns : std::min(kSlice_ns, series->left_ns(tally.elapsed_ns));
    end = part(rounds, std::min(left_ns, slice_ns));
    if (series != nullptr) series->note(*tally.latency, tally.lost, tally.elapsed_ns);
  }
  if (series != nullptr) series->close(*tally.latency, tally.lost);
  tally.doorbells = tally.total;  // each message is posted by itself
  return end;
}

/// The warm-up is over: its samples do not count.
inline void forget_warm_up(LoopState& loop_state) noexcept {
  loop_state.timestamps.taken = 0;
  for (std::uint32_t i = 0; i < loop_state.lane_count; ++i)
    if (QpSamples* const samples = loop_state.lanes[i].samples; samples != nullptr)
      samples->clear();
}

/// Keeps the moments of one sample in the place of the oldest.
[[gnu::always_inline]] inline void keep(TimestampRing& ring,
                                        const Timestamps& timestamps) noexcept {
  ring.first[ring.taken++ & ring.mask] = timestamps;
}

}  // namespace rdmameter
