// SPDX-License-Identifier: Apache-2.0
// Receive credits, of iWARP: a send that finds no receive ends the connection, so the receiver says
// how many receives it has posted, by an RDMA WRITE of that number into a word of the sender. The
// policies of loops that are Credited send no more than that; all others have nothing of it.
#pragma once

#include <sched.h>

#include "core/engine/loop/step.h"

namespace rdmameter {

/// Marks a policy of a loop whose sends wait for receives: `using Credits`.
template <class Base>
struct Credited : Base {
  using Credits = void;
};
template <class Of>
inline constexpr bool kCredited = requires {
  typename Of::Credits;
};

/// Are there receives for so many more messages? Both numbers go around together.
[[gnu::always_inline]] inline bool has_credit(const Credit& credit,
                                              std::uint32_t messages) noexcept {
  return static_cast<std::int32_t>(*credit.granted - credit.sent) >=
         static_cast<std::int32_t>(messages);
}

/// Waits as the loop's waiter does, but without sleeping: a credit raises no event.
template <class P>
void wait_awake(typename P::Cq::Handle cq) noexcept {
  if constexpr (P::Waiter::kSleeps)
    sched_yield();
  else
    typename P::Waiter{}(cq);
}

/// Waits for the credit of one message.
/// @return false: it was told to stop
template <class P>
[[gnu::always_inline]] inline bool await_credit(LoopState& loop_state, const Credit& credit,
                                                const StopFlag& stop) noexcept {
  while (!has_credit(credit, 1)) [[unlikely]] {
      if (stop.requested()) return false;
      wait_awake<P>(P::Cq::of(loop_state.send_cq));
    }
  return true;
}

/// @return 0 or the errno value
inline int write_credit(LoopState& loop_state, Credit& credit) noexcept {
  *credit.posted = credit.count;
  credit.due = false;
  credit.under_way = true;
  ++loop_state.credits_under_way;
  ibv_send_wr* bad;
  return ibv_post_send(credit.qp, &credit.write, &bad);
}

/// Another list of receives is posted. The sender is told of several together, and only then: who
/// has a credit finds a receive.
/// @return 0 or the errno value
[[gnu::noinline]] inline int grant(LoopState& loop_state, RecvRing& ring) noexcept {
  Credit& credit = *ring.lane->credit;
  credit.untold += ring.list_length;
  if (credit.untold < credit.every) return 0;
  credit.count += credit.untold;
  credit.untold = 0;
  if (!credit.under_way) return write_credit(loop_state, credit);
  credit.due = true;
  return 0;
}

/// Takes the completions of credits that are there, and sends those that have become due meanwhile.
template <class P>
[[gnu::noinline]] LoopResult retire_credits(LoopState& loop_state) noexcept {
  ibv_wc wc;
  for (;;) {
    const int polled = P::Cq::poll(P::Cq::of(loop_state.send_cq), 1, &wc);
    if (polled == 0) return {};
    if (!good(polled, wc)) return no_completion(polled, wc);
    Credit& credit = *reinterpret_cast<Credit*>(wc.wr_id);
    credit.under_way = false;
    --loop_state.credits_under_way;
    if (!credit.due) continue;
    if (const int error = write_credit(loop_state, credit); error != 0) return post_failure(error);
  }
}

}  // namespace rdmameter
