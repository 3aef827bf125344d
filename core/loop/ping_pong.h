// SPDX-License-Identifier: Apache-2.0
// The measured path of ping-pong latency, both ends. One sample is one round trip at the initiator:
// from just before the post to just after the pong is seen. Reaping, replenishing and recording
// come after it.
#pragma once

#include "core/loop/step.h"

namespace rdmameter {

/// How a ping or a pong shows itself: as a receive completion...
struct ByReceive {
  static constexpr bool kReceives = true;
};
/// ...or, since an RDMA WRITE leaves no completion, by the message's last byte. The specification
/// does not order the bytes within one WRITE; that adapters write ascending addresses is what every
/// such test relies on (see ibv_query_qp_data_in_order(3)).
struct ByMemory {
  static constexpr bool kReceives = false;
};

/// What ended a wait for a pong.
enum class Arrived : std::uint8_t { yes, late, no };

/// The byte that carries a received message's number; a ping-pong's receives have its address as
/// wr_id.
inline std::uint8_t number_of(const ibv_wc& wc) noexcept {
  return *reinterpret_cast<const volatile std::uint8_t*>(wc.wr_id);
}

/// Is the pong that carries `sequence` there? With `Lossy`, one of an earlier round is ignored.
/// @param polled  after Arrived::no: why, as no_completion() reads it
/// @return        Arrived::late: not yet
template <class By, bool Lossy>
[[gnu::always_inline]] inline Arrived look_for_pong(Traffic& traffic, Lane& lane,
                                                    std::uint8_t sequence, int& polled,
                                                    ibv_wc& wc) noexcept {
  if constexpr (!By::kReceives) {
    return *traffic.arrival == sequence ? Arrived::yes : Arrived::late;
  } else {
    polled = ibv_poll_cq(traffic.recv_cq, 1, &wc);
    if (polled == 0) return Arrived::late;
    if (!good(polled, wc)) [[unlikely]]
      return Arrived::no;
    if (!Lossy || number_of(wc) == sequence) return Arrived::yes;
    // A full receive queue is the worst that a refused post leads to: later messages are lost.
    replenish(lane, traffic.recv_list);
    return Arrived::late;
  }
}

/// The initiator's wait, once the pong was not there at first sight. A function of its own:
/// inlined, its loop would take the registers of the loop around it.
/// @param give_up  with `Lossy`, a pong that is not there by then [ticks] is late
template <class By, bool Lossy, class Clock, class Waiter>
[[gnu::noinline]] Arrived keep_looking(Traffic& traffic, Lane& lane, const Clock& clock,
                                       std::uint8_t sequence, std::uint64_t give_up,
                                       const StopWord& stop, std::uint64_t& empties, int& polled,
                                       ibv_wc& wc) noexcept {
  constexpr std::uint64_t kClockEvery = 16;  // empty polls between looks at the clock
  Arrived arrived;
  do {
    if (stop.requested()) [[unlikely]] {
      polled = 0;
      return Arrived::no;
    }
    ++empties;
    if constexpr (Lossy) {
      if (empties % kClockEvery == 0 && clock.now() > give_up) [[unlikely]]
        return Arrived::late;
    }
    Waiter{}();
    arrived = look_for_pong<By, Lossy>(traffic, lane, sequence, polled, wc);
  } while (arrived == Arrived::late);
  return arrived;
}

/// `rounds` pings, or pings until the duration is over. Adds to `tally`; samples go to `histogram`.
template <class By, bool Lossy, class Clock, class Waiter>
LoopEnd ping(Traffic& traffic, const Clock& clock, std::uint64_t rounds, std::uint64_t duration_ns,
             std::uint64_t loss_ticks, const StopWord& stop, Histogram& histogram,
             LoopTally& tally) noexcept {
  Lane& lane = traffic.lanes[0];
  ibv_qp* const qp = lane.qp;
  SendList* list = lane.send;
  std::uint8_t sequence = traffic.sequence;
  std::uint64_t empties = 0, reaped = 0, lost = 0, round = 0;
  LoopEnd end;
  ibv_wc wc;
  ibv_send_wr* bad;
  const std::uint64_t start = clock.now();
  const std::uint64_t last = end_of(start, duration_ns, clock);
  for (; round < rounds; ++round) {
    ++sequence;
    if constexpr (Lossy || !By::kReceives) *traffic.departure = sequence;
    const std::uint64_t sent = clock.now();
    if (sent >= last) [[unlikely]]
      break;
    if (const int error = ibv_post_send(qp, list->head, &bad); error != 0) [[unlikely]] {
      end = post_failure(error);
      break;
    }
    int polled = 0;
    Arrived arrived = look_for_pong<By, Lossy>(traffic, lane, sequence, polled, wc);
    if (arrived == Arrived::late)
      arrived = keep_looking<By, Lossy, Clock, Waiter>(
          traffic, lane, clock, sequence, sent + loss_ticks, stop, empties, polled, wc);
    const std::uint64_t seen = clock.now();
    if (arrived == Arrived::yes) [[likely]] {
      histogram.record(clock.to_ns(seen - sent));
      tally.progress.store(round + 1, std::memory_order_relaxed);
      if constexpr (By::kReceives) {
        if (const int error = replenish(lane, traffic.recv_list); error != 0) [[unlikely]] {
          end = post_failure(error);
          break;
        }
      }
    } else if (Lossy && arrived == Arrived::late) {
      ++lost;
    } else {
      end = no_completion(polled, wc);
      break;
    }
    if (list->signaled != 0) {
      const int reap = await_completion<Waiter>(traffic.send_cq, wc, stop, empties);
      if (!good(reap, wc)) [[unlikely]] {
        end = no_completion(reap, wc);
        break;
      }
      ++reaped;
    }
    list = list->next;
  }
  lane.send = list;
  traffic.sequence = sequence;
  tally.operations = round;
  tally.lost = lost;
  tally.total += round;
  tally.cqes = reaped + (By::kReceives ? round - lost : 0);
  tally.polls = empties + round - lost + reaped;
  tally.elapsed_ns = clock.to_ns(clock.now() - start);
  return end;
}

/// The initiator: warm-up, then the measured rounds.
template <class By, bool Lossy, class Clock, class Waiter>
LoopEnd ping_pong_initiator(Traffic& traffic, const LoopPlan& plan, const Clock& clock,
                            const StopWord& stop, LoopTally& tally) noexcept {
  const std::uint64_t loss_ticks = clock.to_ticks(plan.loss_timeout_ns);
  const LoopEnd warm = ping<By, Lossy, Clock, Waiter>(traffic, clock, plan.warmup, 0, loss_ticks,
                                                      stop, *tally.scratch, tally);
  if (warm.why != LoopEnd::Why::done) {
    tally.operations = 0;
    return warm;
  }
  return ping<By, Lossy, Clock, Waiter>(traffic, clock, plan.operations, plan.duration_ns,
                                        loss_ticks, stop, *tally.latency, tally);
}

/// The responder's wait for a ping by memory: for a byte other than the last one.
/// @return false when asked to stop
template <class Waiter>
[[gnu::always_inline]] inline bool await_ping(const Traffic& traffic, std::uint8_t& byte,
                                              const StopWord& stop,
                                              std::uint64_t& empties) noexcept {
  const std::uint8_t last = byte;
  while ((byte = *traffic.arrival) == last) {
    if (stop.requested()) [[unlikely]]
      return false;
    ++empties;
    Waiter{}();
  }
  return true;
}

/// The responder: answers every ping until it is told to stop. It needs no count and no clock, so a
/// lost ping costs it nothing: it answers the next.
template <class By, bool Lossy, class Clock, class Waiter>
LoopEnd ping_pong_responder(Traffic& traffic, const LoopPlan&, const Clock&, const StopWord& stop,
                            LoopTally& tally) noexcept {
  Lane& lane = traffic.lanes[0];
  SendList* list = lane.send;
  std::uint64_t empties = 0, answered = 0;
  std::uint8_t byte = traffic.sequence;
  LoopEnd end;
  ibv_wc wc;
  ibv_send_wr* bad;
  for (;;) {
    if constexpr (By::kReceives) {
      const int polled = await_completion<Waiter>(traffic.recv_cq, wc, stop, empties);
      if (!good(polled, wc)) [[unlikely]] {
        end = no_completion(polled, wc);
        break;
      }
      if constexpr (Lossy) *traffic.departure = number_of(wc);
    } else {
      if (!await_ping<Waiter>(traffic, byte, stop, empties)) [[unlikely]] {
        end = {.why = LoopEnd::Why::stopped};
        break;
      }
      *traffic.departure = byte;
    }
    int error = ibv_post_send(lane.qp, list->head, &bad);
    if constexpr (By::kReceives) {
      if (error == 0) error = replenish(lane, traffic.recv_list);
    }
    if (error != 0) [[unlikely]] {
      end = post_failure(error);
      break;
    }
    tally.progress.store(++answered, std::memory_order_relaxed);
    if (list->signaled != 0) {
      const int reap = await_completion<Waiter>(traffic.send_cq, wc, stop, empties);
      if (!good(reap, wc)) [[unlikely]] {
        end = no_completion(reap, wc);
        break;
      }
    }
    list = list->next;
  }
  lane.send = list;
  tally.operations = tally.total = answered;
  tally.polls = empties + answered;
  return end;
}

}  // namespace rdmameter
