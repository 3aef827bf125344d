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

/// What ended a wait.
enum class Arrived : std::uint8_t { yes, late, stopped, failed };

/// The initiator's wait for the pong that carries `sequence`. With `Lossy`, a pong of an earlier
/// round is ignored, and one that is not there by `give_up` [ticks] is late.
template <class By, bool Lossy, class Clock, class Waiter>
Arrived await_pong(Traffic& traffic, Lane& lane, const Clock& clock, std::uint8_t sequence,
                   std::uint64_t give_up, const StopWord& stop, std::uint64_t& polls,
                   LoopEnd& end) {
  constexpr std::uint32_t kClockEvery = 16;  // empty polls between looks at the clock
  std::uint32_t empty = 0;
  ibv_wc wc;
  for (;;) {
    ++polls;
    if constexpr (By::kReceives) {
      const int polled = ibv_poll_cq(traffic.recv_cq, 1, &wc);
      if (polled != 0) {
        if (polled < 0 || wc.status != IBV_WC_SUCCESS) [[unlikely]] {
          end = no_completion(polled, wc);
          return Arrived::failed;
        }
        if constexpr (!Lossy) return Arrived::yes;
        if (*reinterpret_cast<const volatile std::uint8_t*>(wc.wr_id) == sequence)
          return Arrived::yes;
        if (const int error = replenish(lane, traffic.recv_list); error != 0) [[unlikely]] {
          end = {.why = LoopEnd::Why::post_failed, .error = error};
          return Arrived::failed;
        }
        continue;
      }
    } else {
      if (*traffic.arrival == sequence) return Arrived::yes;
    }
    if (stop.requested()) [[unlikely]]
      return Arrived::stopped;
    if constexpr (Lossy) {
      if (++empty % kClockEvery == 0 && clock.now() > give_up) [[unlikely]]
        return Arrived::late;
    }
    Waiter{}();
  }
}

/// `rounds` pings, or pings until `end_ticks`. Adds to `tally`, samples go to `histogram`.
template <class By, bool Lossy, class Clock, class Waiter>
LoopEnd ping(Traffic& traffic, const Clock& clock, std::uint64_t rounds,
             std::uint64_t duration_ticks, std::uint64_t loss_ticks, const StopWord& stop,
             Histogram& histogram, LoopTally& tally) {
  Lane& lane = traffic.lanes[0];
  LoopEnd end;
  std::uint64_t polls = 0, lost = 0, round = 0;
  std::uint8_t sequence = traffic.sequence;
  const std::uint64_t start = clock.now();
  std::uint64_t seen = start;
  for (; round < rounds; ++round) {
    ++sequence;
    if constexpr (Lossy || !By::kReceives) *traffic.departure = sequence;
    const SendList* list = lane.send;
    const std::uint64_t sent = clock.now();
    if (sent - start >= duration_ticks) [[unlikely]]
      break;
    if (const int error = post_next(lane); error != 0) [[unlikely]] {
      end = {.why = LoopEnd::Why::post_failed, .error = error};
      break;
    }
    const Arrived arrived = await_pong<By, Lossy, Clock, Waiter>(
        traffic, lane, clock, sequence, sent + loss_ticks, stop, polls, end);
    seen = clock.now();
    if (arrived == Arrived::yes) [[likely]] {
      histogram.record(clock.to_ns(seen - sent));
      tally.progress.store(round + 1, std::memory_order_relaxed);
      if constexpr (By::kReceives) {
        if (const int error = replenish(lane, traffic.recv_list); error != 0) [[unlikely]] {
          end = {.why = LoopEnd::Why::post_failed, .error = error};
          break;
        }
      }
    } else if (arrived == Arrived::late) {
      ++lost;
    } else {
      if (arrived == Arrived::stopped) end = {.why = LoopEnd::Why::stopped};
      break;
    }
    if (list->signaled != 0) {
      end = reap_send<Waiter>(traffic.send_cq, stop, polls);
      if (end.why != LoopEnd::Why::done) [[unlikely]]
        break;
    }
  }
  traffic.sequence = sequence;
  tally.operations = round;
  tally.lost += lost;
  tally.total += round;
  tally.polls += polls;
  tally.elapsed_ns = clock.to_ns(seen - start);
  return end;
}

/// The initiator: warm-up, then the measured rounds.
template <class By, bool Lossy, class Clock, class Waiter>
LoopEnd ping_pong_initiator(Traffic& traffic, const LoopPlan& plan, const Clock& clock,
                            const StopWord& stop, LoopTally& tally) {
  constexpr std::uint64_t kEver = std::numeric_limits<std::uint64_t>::max();
  const std::uint64_t loss_ticks = clock.to_ticks(plan.loss_timeout_ns);
  const std::uint64_t duration = plan.duration_ns == 0 ? kEver : clock.to_ticks(plan.duration_ns);
  const LoopEnd warm = ping<By, Lossy, Clock, Waiter>(traffic, clock, plan.warmup, kEver,
                                                      loss_ticks, stop, *tally.scratch, tally);
  if (warm.why != LoopEnd::Why::done) {
    tally.operations = 0;
    return warm;
  }
  tally.lost = 0;
  tally.polls = 0;
  return ping<By, Lossy, Clock, Waiter>(traffic, clock, plan.operations, duration, loss_ticks, stop,
                                        *tally.latency, tally);
}

/// The responder: answers every ping until it is told to stop. It needs no count and no clock, so a
/// lost ping costs it nothing: it answers the next.
template <class By, bool Lossy, class Clock, class Waiter>
LoopEnd ping_pong_responder(Traffic& traffic, const LoopPlan&, const Clock&, const StopWord& stop,
                            LoopTally& tally) {
  Lane& lane = traffic.lanes[0];
  std::uint64_t polls = 0, answered = 0;
  std::uint8_t last = traffic.sequence;
  LoopEnd end;
  ibv_wc wc;
  for (;;) {
    if constexpr (By::kReceives) {
      const int polled = await_completion<Waiter>(traffic.recv_cq, wc, stop, polls);
      if (polled <= 0 || wc.status != IBV_WC_SUCCESS) [[unlikely]] {
        end = no_completion(polled, wc);
        break;
      }
      if constexpr (Lossy)
        *traffic.departure = *reinterpret_cast<const volatile std::uint8_t*>(wc.wr_id);
    } else {
      ++polls;
      std::uint8_t byte = *traffic.arrival;
      while (byte == last) {
        if (stop.requested()) [[unlikely]]
          break;
        Waiter{}();
        byte = *traffic.arrival;
        ++polls;
      }
      if (byte == last) [[unlikely]] {
        end = {.why = LoopEnd::Why::stopped};
        break;
      }
      last = byte;
      *traffic.departure = byte;
    }
    const SendList* list = lane.send;
    int error = post_next(lane);
    if constexpr (By::kReceives) {
      if (error == 0) error = replenish(lane, traffic.recv_list);
    }
    if (error != 0) [[unlikely]] {
      end = {.why = LoopEnd::Why::post_failed, .error = error};
      break;
    }
    tally.progress.store(++answered, std::memory_order_relaxed);
    if (list->signaled != 0) {
      end = reap_send<Waiter>(traffic.send_cq, stop, polls);
      if (end.why != LoopEnd::Why::done) [[unlikely]]
        break;
    }
  }
  traffic.sequence = last;
  tally.operations = tally.total = answered;
  tally.polls = polls;
  return end;
}

}  // namespace rdmameter
