// SPDX-License-Identifier: Apache-2.0
// The steps that every measured loop is made of. Part of the measured path: they are inlined into
// it, and keep what they can in registers.
#pragma once

#include "core/loop/traffic.h"
#include "core/loop/verbs.h"
#include "core/loop/wait.h"
#include "core/stop.h"

namespace rdmameter {

/// What is chosen for a run and costs nothing within it: a loop is an instance for one policy.
template <class TheClock, class TheWaiter, class ThePost, class TheCq>
struct Policy {
  using Clock = TheClock;
  using Waiter = TheWaiter;
  using Post = ThePost;
  using Cq = TheCq;
};

[[gnu::cold]] inline LoopEnd post_failure(int error) noexcept {
  return {.why = LoopEnd::Why::post_failed, .error = error};
}

/// Why no good completion came of a wait.
/// @param polled  what await_completion() returned
[[gnu::cold]] inline LoopEnd no_completion(int polled, const ibv_wc& wc) noexcept {
  if (polled == 0) return {.why = LoopEnd::Why::stopped};
  if (polled < 0) return {.why = LoopEnd::Why::poll_failed, .error = polled};
  return {.why = LoopEnd::Why::completion_failed,
          .status = wc.status,
          .vendor_err = wc.vendor_err,
          .qp_num = wc.qp_num};
}

/// The part of await_completion() that waits. A function of its own: inlined, its loop would take
/// the registers of the loop around it.
template <class P, bool kImmediate>
[[gnu::noinline]] int keep_polling(typename P::Cq::Handle cq, ibv_wc& wc, const StopWord& stop,
                                   std::uint64_t& empties) noexcept {
  int polled = 0;
  do {
    if (stop.requested()) [[unlikely]]
      break;
    ++empties;
    typename P::Waiter{}(cq);
    polled = P::Cq::template poll<kImmediate>(cq, 1, &wc);
  } while (polled == 0);
  return polled;
}

/// Polls `cq` until one completion is there.
/// @param empties  counts polls that found nothing
/// @tparam kImmediate  is the completion's immediate looked at?
/// @return         1, or 0 when asked to stop, or ibv_poll_cq's negative result
template <class P, bool kImmediate = false>
[[gnu::always_inline]] inline int await_completion(typename P::Cq::Handle cq, ibv_wc& wc,
                                                   const StopWord& stop,
                                                   std::uint64_t& empties) noexcept {
  const int polled = P::Cq::template poll<kImmediate>(cq, 1, &wc);
  return polled != 0 ? polled : keep_polling<P, kImmediate>(cq, wc, stop, empties);
}

/// Is there a good completion?
inline bool good(int polled, const ibv_wc& wc) noexcept {
  return polled > 0 && wc.status == IBV_WC_SUCCESS;
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
  return duration_ns == 0 ? std::numeric_limits<std::uint64_t>::max()
                          : start + clock.to_ticks(duration_ns);
}

/// A measured run begins now: sets when it ends, unless it has been told to end at once.
template <class Clock>
void set_end(LoopTally& tally, std::uint64_t start, std::uint64_t duration_ns,
             const Clock& clock) noexcept {
  std::uint64_t never = std::numeric_limits<std::uint64_t>::max();
  tally.last_ticks.compare_exchange_strong(never, end_of(start, duration_ns, clock));
}

/// Has the run's time come, or has it been told to end?
[[gnu::always_inline]] inline bool over(const LoopTally& tally, std::uint64_t now) noexcept {
  return now >= tally.last_ticks.load(std::memory_order_relaxed);
}

/// The measured part of a latency: at one go; where it goes on until interrupted in slices, between
/// which it is looked whether that has come, so that the loop itself has nothing to look at.
/// @param part  of so many rounds, or so long [ns]; adds to the tally
template <class Part>
LoopEnd measure(const LoopPlan& plan, LoopTally& tally, const Part& part) noexcept {
  constexpr std::uint64_t kSlice_ns = 50'000'000;
  tally.operations = tally.elapsed_ns = tally.lost = tally.cqes = tally.polls = 0;  // a warm-up's
  if (!plan.until_interrupted) return part(plan.operations, plan.duration_ns);
  LoopEnd end;
  while (end.why == LoopEnd::Why::done && !over(tally, 0)) end = part(plan.operations, kSlice_ns);
  return end;
}

/// Keeps the moments of one sample in the place of the oldest.
[[gnu::always_inline]] inline void keep(MomentRing& ring, const Moments& moments) noexcept {
  ring.first[ring.taken++ & ring.mask] = moments;
}

}  // namespace rdmameter
