// SPDX-License-Identifier: Apache-2.0
// The measured path of ping-pong latency, both ends. One sample is one round trip at the initiator:
// from just before the post to just after the pong, or the last of a group's, is seen. Reaping,
// replenishing and recording come after it.
#pragma once

#include "core/engine/loop/poll_watch.h"
#include "core/engine/loop/step.h"

namespace rdmameter {

// How a ping or a pong shows itself, and where it carries its round's number (modulo 256) where
// that must be known.

/// A pong seen by a receive completion; on RC every one is the one that was waited for.
struct ByReceive {
  static constexpr bool kReceives = true, kNumbered = false, kImmediate = false, kMany = false;
};
/// A pong seen by a receive completion; the number is the payload's last byte.
struct ByNumberedReceive {
  static constexpr bool kReceives = true, kNumbered = true, kImmediate = false, kMany = false;
  static std::uint8_t number(const ibv_wc& wc) noexcept { return *receive_of(wc).number; }
  static void put(const SendList& list, std::uint8_t number) noexcept {
    *list.lane->departure = number;
  }
};
/// Each of LoopState::answers that way: the pongs of a group.
struct ByNumberedReceives : ByNumberedReceive {
  static constexpr bool kMany = true;
};
/// A pong seen by a receive completion; the number is the immediate.
struct ByImmediate {
  static constexpr bool kReceives = true, kNumbered = true, kImmediate = true, kMany = false;
  static std::uint8_t number(const ibv_wc& wc) noexcept {
    return static_cast<std::uint8_t>(wc.imm_data);
  }
  static void put(const SendList& list, std::uint8_t number) noexcept {
    list.head->imm_data = number;
  }
};
/// Since an RDMA WRITE leaves no completion, by the message's last byte, the number. The
/// specification does not order the bytes within one WRITE; that adapters write ascending addresses
/// is what every such test relies on (see ibv_query_qp_data_in_order(3)).
struct ByMemory {
  static constexpr bool kReceives = false, kNumbered = true, kMany = false;
  static void put(const SendList& list, std::uint8_t number) noexcept {
    *list.lane->departure = number;
  }
};

/// How a wait for a pong ended.
enum class Arrived : std::uint8_t { yes, late, no };

/// Does the next message go before the completion of this one's send is there? Not where its number
/// is written into bytes that the send may still read; and a watched loop tells what it waited for.
template <class By>
inline constexpr bool kLeavesCompletions = !By::kNumbered && !kWatched<By>;

/// Has a pong arrived? By a receive completion its number is not looked at: that reads the payload,
/// and so comes after the sample.
/// @param polled  after Arrived::no: why, as no_completion() reads it
/// @return        Arrived::late: not yet
template <class By, class P>
[[gnu::always_inline]] inline Arrived look_for_pong(LoopState& loop_state, const Lane& lane,
                                                    std::uint8_t sequence, int& polled,
                                                    ibv_wc& wc) noexcept {
  if constexpr (!By::kReceives) {
    return *lane.arrival == sequence ? Arrived::yes : Arrived::late;
  } else {
    polled = P::Cq::template poll<By::kImmediate>(P::Cq::of(loop_state.recv_cq), 1, &wc);
    if (polled == 0) return Arrived::late;
    return good(polled, wc) ? Arrived::yes : Arrived::no;
  }
}

/// look_for_pong() as a watched loop looks: more than 0 where something is there.
template <class By, class P>
[[gnu::always_inline]] inline int poll_for_pong(LoopState& loop_state, const Lane& lane,
                                                std::uint8_t sequence, ibv_wc& wc) noexcept {
  if constexpr (By::kReceives)
    return P::Cq::template poll<By::kImmediate>(P::Cq::of(loop_state.recv_cq), 1, &wc);
  else
    return int{*lane.arrival == sequence};
}

/// The initiator's wait, once the pong was not there at first sight. A function of its own:
/// inlined, its loop would take the registers of the loop around it.
/// @param give_up  with `Lossy`, a pong that is not there by then [ticks] is late
template <class By, bool Lossy, class P>
[[gnu::noinline]] Arrived keep_looking(LoopState& loop_state, const Lane& lane,
                                       const typename P::Clock& clock, std::uint8_t sequence,
                                       std::uint64_t give_up, const StopFlag& stop,
                                       std::uint64_t& empties, int& polled, ibv_wc& wc) noexcept {
  // Empty polls between looks at the clock.
  constexpr std::uint64_t kClockEvery = P::Waiter::kSleeps ? 1 : 16;
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
    typename P::Waiter{}(P::Cq::of(loop_state.recv_cq));
    arrived = look_for_pong<By, P>(loop_state, lane, sequence, polled, wc);
  } while (arrived == Arrived::late);
  return arrived;
}

/// After a pong of an earlier round: the wait for that of this one. A function of its
/// own, being rare.
/// @param seen  when a pong was seen [ticks]: the one of an earlier round, then the last one
template <class By, class P>
[[gnu::noinline]] Arrived pass_over(LoopState& loop_state, const Lane& lane,
                                    const typename P::Clock& clock, std::uint8_t sequence,
                                    std::uint64_t give_up, const StopFlag& stop,
                                    std::uint64_t& empties, int& polled, ibv_wc& wc,
                                    std::uint64_t& seen) noexcept {
  Arrived arrived;
  do {
    // A full receive queue is the worst that a refused post leads to: later messages are lost.
    replenish(*receive_of(wc).ring);
    if (seen > give_up) return Arrived::late;
    arrived = keep_looking<By, true, P>(loop_state, lane, clock, sequence, give_up, stop, empties,
                                        polled, wc);
    seen = clock.now();
  } while (arrived == Arrived::yes && By::number(wc) != sequence);
  return arrived;
}

/// The initiator's wait for all that answers a ping; with `Lossy` the last pong may be one of an
/// earlier round (pass_over()).
/// @return Arrived::late, with `Lossy`, where some of it is not there by `give_up` [ticks]
template <class By, bool Lossy, class P>
[[gnu::always_inline]] inline Arrived await_pong(LoopState& loop_state, const Lane& lane,
                                                 const typename P::Clock& clock,
                                                 std::uint8_t sequence, std::uint64_t give_up,
                                                 const StopFlag& stop, std::uint64_t& empties,
                                                 int& polled, ibv_wc& wc) noexcept {
  for (std::uint32_t missing = By::kMany ? loop_state.answers : 1;;) {
    Arrived arrived = look_for_pong<By, P>(loop_state, lane, sequence, polled, wc);
    if (arrived == Arrived::late)
      arrived = keep_looking<By, Lossy, P>(loop_state, lane, clock, sequence, give_up, stop,
                                           empties, polled, wc);
    if (!By::kMany || arrived != Arrived::yes || missing == 1) return arrived;
    if constexpr (By::kMany) {
      if (By::number(wc) == sequence) --missing;
      // A full receive queue is the worst that a refused post leads to: later answers are lost.
      replenish(*receive_of(wc).ring);
    }
  }
}

/// `rounds` pings, or pings until the duration is over. Adds to `tally`; samples go to `histogram`.
template <class By, bool Lossy, class P>
LoopResult ping(LoopState& loop_state, const typename P::Clock& clock, std::uint64_t rounds,
                std::uint64_t duration_ns, std::uint64_t loss_ticks, const StopFlag& stop,
                Histogram& histogram, LoopTally& tally) noexcept {
  constexpr bool kStamps = By::kReceives && !By::kMany && P::Cq::kStamps;
  SendList* list = loop_state.lanes[0].send;
  std::uint8_t sequence = loop_state.sequence;
  const std::uint64_t end_round = tally.operations + rounds;
  std::uint64_t reaped = 0, lost = 0, round = tally.operations;
  Waits waits;
  LoopResult end;
  ibv_wc wc;
  const std::uint64_t start = clock.now();
  const std::uint64_t last = end_of(start, duration_ns, clock);
  for (; round < end_round; ++round) {
    ++sequence;
    if constexpr (By::kNumbered) By::put(*list, sequence);
    const std::uint64_t sent = clock.now();
    if (sent >= last) [[unlikely]]
      break;
    if (const int error = P::Post::post(loop_state, *list->lane, list->head); error != 0)
        [[unlikely]] {
      end = post_failure(error);
      break;
    }
    std::uint64_t posted = 0;
    if constexpr (kStamps) posted = clock.now();
    int polled = 0;
    Arrived arrived;
    std::uint64_t seen = sent;
    if constexpr (kWatched<By>) {
      polled = watched_sample<P>(loop_state.watch, clock, round, P::Cq::of(loop_state.recv_cq),
                                 stop, waits.empties, sent, seen,
                                 [&loop_state, &lane = *list->lane, sequence, &wc] {
                                   return poll_for_pong<By, P>(loop_state, lane, sequence, wc);
                                 });
      arrived = polled > 0 && (!By::kReceives || wc.status == IBV_WC_SUCCESS) ? Arrived::yes
                                                                              : Arrived::no;
    } else {
      arrived = await_pong<By, Lossy, P>(loop_state, *list->lane, clock, sequence,
                                         sent + loss_ticks, stop, waits.empties, polled, wc);
      seen = clock.now();
    }
    if constexpr (By::kReceives && Lossy) {
      if (arrived == Arrived::yes && By::number(wc) != sequence) [[unlikely]] {
        std::uint64_t last_seen = seen;
        arrived = pass_over<By, P>(loop_state, *list->lane, clock, sequence, sent + loss_ticks,
                                   stop, waits.empties, polled, wc, last_seen);
        seen = last_seen;
      }
    }
    if (arrived == Arrived::yes) [[likely]] {
      histogram.record(clock.to_ns(seen - sent));
      if constexpr (kPerQp<By>) list->lane->samples->record(clock.to_ns(seen - sent));
      if constexpr (kStamps)
        keep(loop_state.timestamps, {sent, posted, loop_state.recv_cq.completed_at, seen});
      tally.progress.store(round + 1, std::memory_order_relaxed);
      if constexpr (By::kReceives) {
        if (const int error = replenish(*receive_of(wc).ring); error != 0) [[unlikely]] {
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
      if constexpr (kLeavesCompletions<By>)
        reap<P>(loop_state, wc, stop, waits);
      else
        await_completion<P>(P::Cq::of(loop_state.send_cq), wc, stop, waits);
      if (wc.status != IBV_WC_SUCCESS) [[unlikely]] {
        end = no_completion(waits.polled, wc);
        break;
      }
      ++reaped;
    }
    list = list->next;
  }
  if (waits.left && end.why == LoopResult::Why::done) end = take_left<P>(loop_state, stop, waits);
  loop_state.lanes[0].send = list;
  loop_state.sequence = sequence;
  const std::uint64_t done = round - tally.operations;
  tally.operations = round;
  tally.lost += lost;
  tally.total += done;
  const std::uint64_t answers = (done - lost) * loop_state.answers;
  tally.cqes += reaped + (By::kReceives ? answers : 0);
  tally.polls += waits.empties + answers + reaped;
  tally.elapsed_ns += clock.to_ns(clock.now() - start);
  return end;
}

/// The initiator: warm-up, then the measured rounds.
template <class By, bool Lossy, class P>
LoopResult ping_pong_initiator(LoopState& loop_state, const LoopPlan& plan,
                               const typename P::Clock& clock, const StopFlag& stop,
                               LoopTally& tally) noexcept {
  const std::uint64_t loss_ticks = clock.to_ticks(plan.loss_timeout_ns);
  const LoopResult warm = ping<By, Lossy, P>(loop_state, clock, plan.warmup, 0, loss_ticks, stop,
                                             *tally.scratch, tally);
  if (warm.why != LoopResult::Why::done) {
    tally.operations = 0;
    return warm;
  }
  forget_warm_up(loop_state);
  if constexpr (kWatched<By>) loop_state.watch->begin(*tally.scratch, plan.warmup, clock);
  return measure(plan, tally, [&](std::uint64_t rounds, std::uint64_t duration_ns) {
    const std::uint64_t number = loop_state.sequence - tally.operations;
    const LoopResult end = ping<By, Lossy, P>(loop_state, clock, rounds, duration_ns, loss_ticks,
                                              stop, *tally.latency, tally);
    // Not that of a message which the end of a slice left out: a QP has its next number each turn.
    loop_state.sequence = static_cast<std::uint8_t>(number + tally.operations);
    return end;
  });
}

/// The responder's wait for a ping by memory: for a byte other than the last one there.
/// @return false when asked to stop
template <class P>
[[gnu::always_inline]] inline bool await_ping(const Lane& lane, std::uint8_t last,
                                              const StopFlag& stop,
                                              std::uint64_t& empties) noexcept {
  while (*lane.arrival == last) {
    if (stop.requested()) [[unlikely]]
      return false;
    ++empties;
    typename P::Waiter{}(
        static_cast<ibv_cq*>(nullptr));  // never sleeps: a write raises no event here
  }
  return true;
}

/// Writes the number that the next ping will have if none is lost into the next pong, once nothing
/// reads that any more. @return that number
template <class By>
[[gnu::always_inline]] inline std::uint8_t preset_next_number(const SendList& list,
                                                              std::uint8_t number) noexcept {
  By::put(*list.next, ++number);
  return number;
}

/// The responder: answers every ping until it is told to stop. It needs no count and no clock, so a
/// lost ping costs it nothing: it answers the next. With `Lossy` its answer carries the ping's
/// number, which was written beforehand: so a comparison is all that stands between a ping and its
/// pong. It cannot come after the pong: an answer to a ping that comes twice, or late, would have
/// the number of one that is still to come.
template <class By, bool Lossy, class P>
LoopResult ping_pong_responder(LoopState& loop_state, const LoopPlan&,
                               [[maybe_unused]] const typename P::Clock& clock,
                               const StopFlag& stop, LoopTally& tally) noexcept {
  SendList* list = loop_state.lanes[0].send;
  constexpr bool kPresetsNumber = By::kReceives && Lossy;
  std::uint64_t answered = 0;
  Waits waits;
  LoopResult end;
  ibv_wc wc;
  // What is in the next pong; more than a number: nothing.
  [[maybe_unused]] std::uint32_t preset = 256;
  // When a watched loop looked at the clock last.
  [[maybe_unused]] std::uint64_t last = kWatched<By> ? clock.now() : 0;
  const auto watched = [&](auto& cq, const auto& poll) {
    return watched_wait<P>(*loop_state.watch, clock, answered, P::Cq::of(cq), stop, waits.empties,
                           last, poll);
  };
  for (;;) {
    RecvRing* ring = nullptr;
    [[maybe_unused]] std::uint8_t number = 0;
    if constexpr (By::kReceives) {
      if constexpr (kWatched<By>)
        waits.polled = found(wc, watched(loop_state.recv_cq, [&] {
                               return P::Cq::template poll<By::kImmediate>(
                                   P::Cq::of(loop_state.recv_cq), 1, &wc);
                             }));
      else
        await_completion<P, By::kImmediate>(P::Cq::of(loop_state.recv_cq), wc, stop, waits);
      if (wc.status != IBV_WC_SUCCESS) [[unlikely]] {
        end = no_completion(waits.polled, wc);
        break;
      }
      ring = receive_of(wc).ring;
      if constexpr (kPresetsNumber) {
        number = By::number(wc);
        if (number != preset) [[unlikely]]
          By::put(*list, number);
        preset = 256;
      }
    } else {
      Lane& lane = *list->lane;
      bool arrived;
      if constexpr (kWatched<By>)
        arrived = watched(loop_state.recv_cq,
                          [&lane] { return int{*lane.arrival != lane.answered}; }) != 0;
      else
        arrived = await_ping<P>(lane, lane.answered, stop, waits.empties);
      if (!arrived) [[unlikely]] {
        end = {.why = LoopResult::Why::stopped};
        break;
      }
      lane.answered = *lane.arrival;
      *lane.departure = lane.answered;
    }
    int error = P::Post::post(loop_state, *list->lane, list->head);
    if constexpr (By::kReceives) {
      if (error == 0) error = replenish(*ring);
    }
    if (error != 0) [[unlikely]] {
      end = post_failure(error);
      break;
    }
    tally.progress.store(++answered, std::memory_order_relaxed);
    if (list->signaled != 0) {
      if constexpr (kWatched<By>)  // the next ping waits for these polls, too
        waits.polled = found(wc, watched(loop_state.send_cq, [&] {
                               return P::Cq::poll(P::Cq::of(loop_state.send_cq), 1, &wc);
                             }));
      else if constexpr (kLeavesCompletions<By>)
        reap<P>(loop_state, wc, stop, waits);
      else
        await_completion<P>(P::Cq::of(loop_state.send_cq), wc, stop, waits);
      if (wc.status != IBV_WC_SUCCESS) [[unlikely]] {
        end = no_completion(waits.polled, wc);
        break;
      }
      if constexpr (kPresetsNumber) preset = preset_next_number<By>(*list, number);
    }
    list = list->next;
  }
  if (waits.left && end.why == LoopResult::Why::stopped)
    static_cast<void>(take_left<P>(loop_state, stop, waits));
  loop_state.lanes[0].send = list;
  tally.operations = tally.total = answered;
  tally.polls = waits.empties + answered;
  return end;
}

}  // namespace rdmameter
