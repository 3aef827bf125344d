// SPDX-License-Identifier: Apache-2.0
// The measured path of multicast latency at the initiator: a ping to the group, and the answers of
// all its members. One sample is one round: from just before the post to just after the last answer
// is seen.
#pragma once

#include "core/loop/ping_pong.h"

namespace rdmameter {

/// Waits until every member has answered a round.
/// @param missing  in: members, out: those whose answer is not there
/// @return Arrived::late where one is not there by `give_up` [ticks]
template <class P>
[[gnu::always_inline]] inline Arrived await_answers(Traffic& traffic, const Lane& lane,
                                                    const typename P::Clock& clock,
                                                    std::uint8_t sequence, std::uint64_t give_up,
                                                    const StopWord& stop, std::uint64_t& empties,
                                                    std::uint32_t missing, int& polled,
                                                    ibv_wc& wc) noexcept {
  for (;;) {
    Arrived arrived =
        look_for_pong<ByNumberedReceive, true, P>(traffic, lane, sequence, polled, wc);
    if (arrived == Arrived::late)
      arrived = keep_looking<ByNumberedReceive, true, P>(traffic, lane, clock, sequence, give_up,
                                                         stop, empties, polled, wc);
    if (arrived != Arrived::yes || --missing == 0) return arrived;
    // A full receive queue is the worst that a refused post leads to: later answers are lost.
    replenish(*receive_of(wc).ring);
  }
}

/// `rounds` pings, or pings until the duration is over. Adds to `tally`; samples go to `histogram`.
template <class P>
LoopEnd fan_out(Traffic& traffic, const typename P::Clock& clock, std::uint64_t rounds,
                std::uint64_t duration_ns, std::uint64_t loss_ticks, const StopWord& stop,
                Histogram& histogram, LoopTally& tally) noexcept {
  SendList* list = traffic.lanes[0].send;
  std::uint8_t sequence = traffic.sequence;
  std::uint64_t empties = 0, reaped = 0, lost = 0, round = 0;
  LoopEnd end;
  ibv_wc wc;
  const std::uint64_t start = clock.now();
  const std::uint64_t last = end_of(start, duration_ns, clock);
  for (; round < rounds; ++round) {
    ByNumberedReceive::put(*list, ++sequence);
    const std::uint64_t sent = clock.now();
    if (sent >= last) [[unlikely]]
      break;
    int error = P::Post::post(traffic, *list->lane, list->head);
    if (error != 0) [[unlikely]] {
      end = post_failure(error);
      break;
    }
    int polled = 0;
    const Arrived arrived =
        await_answers<P>(traffic, *list->lane, clock, sequence, sent + loss_ticks, stop, empties,
                         traffic.answers, polled, wc);
    const std::uint64_t seen = clock.now();
    if (arrived == Arrived::no) [[unlikely]] {
      end = no_completion(polled, wc);
      break;
    }
    if (arrived == Arrived::yes) [[likely]] {
      histogram.record(clock.to_ns(seen - sent));
      tally.progress.store(round + 1, std::memory_order_relaxed);
      error = replenish(*receive_of(wc).ring);
      if (error != 0) [[unlikely]] {
        end = post_failure(error);
        break;
      }
    } else {
      ++lost;
    }
    if (list->signaled != 0) {
      const int reap = await_completion<P>(P::Cq::of(traffic.send_cq), wc, stop, empties);
      if (!good(reap, wc)) [[unlikely]] {
        end = no_completion(reap, wc);
        break;
      }
      ++reaped;
    }
    list = list->next;
  }
  traffic.lanes[0].send = list;
  traffic.sequence = sequence;
  tally.operations = round;
  tally.lost = lost;
  tally.total += round;
  tally.cqes = reaped + (round - lost) * traffic.answers;
  tally.polls = empties + tally.cqes;
  tally.elapsed_ns = clock.to_ns(clock.now() - start);
  return end;
}

/// Warm-up, then the measured rounds.
template <class P>
LoopEnd fan_out_initiator(Traffic& traffic, const LoopPlan& plan, const typename P::Clock& clock,
                          const StopWord& stop, LoopTally& tally) noexcept {
  const std::uint64_t loss_ticks = clock.to_ticks(plan.loss_timeout_ns);
  const LoopEnd warm =
      fan_out<P>(traffic, clock, plan.warmup, 0, loss_ticks, stop, *tally.scratch, tally);
  if (warm.why != LoopEnd::Why::done) {
    tally.operations = 0;
    return warm;
  }
  return fan_out<P>(traffic, clock, plan.operations, plan.duration_ns, loss_ticks, stop,
                    *tally.latency, tally);
}

}  // namespace rdmameter
