// SPDX-License-Identifier: Apache-2.0
// The measured path of bandwidth at the initiator: every QP's queue kept full, each completion at
// once answered by as many new posts as it made room for. The window opens at the completion that
// ends the warm-up, the pipe full, and closes at the last counted one; posting goes on
// until it closes.
#pragma once

#include "core/engine/loop/credit.h"
#include "core/engine/loop/numbers.h"
#include "core/engine/loop/window_barrier.h"

namespace rdmameter {

/// Posts one list.
/// @return 0 or the errno value
template <class Numbers, class P>
[[gnu::always_inline]] inline int post_list_of(const LoopState& loop_state, Lane& lane,
                                               SendList& list,
                                               const typename P::Clock& clock) noexcept {
  if constexpr (Numbers::kNumbered) put_numbers<Numbers>(loop_state, lane, list.head);
  if constexpr (kTimed<Numbers>) {
    list.stamp = clock.now();
    loop_state.times->posts.note(list.stamp);
  } else if (list.signaled != 0) {
    list.stamp = clock.now();
  }
  return P::Post::post(loop_state, lane, list.head);
}

/// Posts lists while the lane has room for one more.
/// @param room_to  most outstanding WRs that leave room for a list
/// @return 0 or the errno value
template <class Numbers, class P>
[[gnu::always_inline]] inline int fill(const LoopState& loop_state, Lane& lane,
                                       std::uint32_t outstanding, std::uint32_t room_to,
                                       std::uint32_t post_list,
                                       const typename P::Clock& clock) noexcept {
  SendList* list = lane.send;
  int error = 0;
  while (outstanding <= room_to) {
    error = post_list_of<Numbers, P>(loop_state, lane, *list, clock);
    if (error != 0) [[unlikely]]
      break;
    outstanding += post_list;
    list = list->next;
  }
  lane.send = list;
  lane.outstanding = outstanding;
  return error;
}

/// Fills the queues, list by list, each on the next lane: completions come in the order of posts,
/// and each is answered on its lane, so that lanes which take turns here go on taking turns. A
/// function of its own, so that it takes no registers from the loop.
/// @return 0 or the errno value
template <class Numbers, class P>
[[gnu::noinline]] int fill_in_turn(LoopState& loop_state, std::uint32_t room_to,
                                   const typename P::Clock& clock) noexcept {
  const std::uint32_t post_list = loop_state.post_list;
  int error = 0;
  for (std::uint32_t posted = 0; posted + post_list <= room_to && error == 0; posted += post_list)
    for (std::uint32_t i = 0; i < loop_state.lane_count && error == 0; ++i)
      error = fill<Numbers, P>(loop_state, loop_state.lanes[i], posted, posted, post_list, clock);
  return error;
}

/// Posts lists on the lanes that have room, in turn, as long as there are credits for them.
/// @return 0 or the errno value
template <class Numbers, class P>
[[gnu::noinline]] int fill_credited(LoopState& loop_state, std::uint32_t room_to,
                                    const typename P::Clock& clock) noexcept {
  const std::uint32_t post_list = loop_state.post_list, lanes = loop_state.lane_count;
  loop_state.starved = false;
  for (std::uint32_t passed = 0; passed < lanes;) {
    Lane& lane = loop_state.lanes[loop_state.next_lane];
    loop_state.next_lane = loop_state.next_lane + 1 == lanes ? 0 : loop_state.next_lane + 1;
    const bool room = lane.outstanding <= room_to;
    if (!room || !has_credit(*lane.credit, post_list)) {
      loop_state.starved = loop_state.starved || room;
      ++passed;
      continue;
    }
    SendList& list = *lane.send;
    if (const int error = post_list_of<Numbers, P>(loop_state, lane, list, clock); error != 0)
        [[unlikely]]
      return error;
    lane.send = list.next;
    lane.outstanding += post_list;
    lane.credit->sent += post_list;
    passed = 0;
    loop_state.starved = false;
  }
  return 0;
}

/// Takes one completion of closing the traffic.
template <class Numbers, class P>
LoopResult take_while_closing(LoopState& loop_state, const typename P::Clock& clock,
                              const StopFlag& stop, LoopTally& tally,
                              std::uint32_t& closed) noexcept {
  ibv_wc wc{};
  Waits waits;
  await_completion<P>(P::Cq::of(loop_state.send_cq), wc, stop, waits);
  tally.polls += waits.empties;
  if (wc.status != IBV_WC_SUCCESS) return no_completion(waits.polled, wc);
  if (wc.wr_id == kClosing) {
    ++closed;
    return {};
  }
  reinterpret_cast<SendList*>(wc.wr_id)->lane->outstanding -= loop_state.signal_every;
  if constexpr (kTimed<Numbers>) loop_state.times->completions.note(clock.now());
  return {};
}

/// Posts one signaled WR on every lane and waits for all of them, so that everything before them is
/// retired too. Not timed.
template <class Numbers, class P>
LoopResult close_traffic(LoopState& loop_state, const typename P::Clock& clock,
                         const StopFlag& stop, LoopTally& tally) noexcept {
  std::uint32_t closed = 0;
  for (std::uint32_t i = 0; i < loop_state.lane_count; ++i) {
    Lane& lane = loop_state.lanes[i];
    while (lane.outstanding == loop_state.depth) {  // another lane's completion may come first
      const LoopResult end = take_while_closing<Numbers, P>(loop_state, clock, stop, tally, closed);
      if (end.why != LoopResult::Why::done) return end;
    }
    if (loop_state.closing_in_turn) {  // all before it may be under way: a place that is free
      lane.closing->sg_list = lane.send->head->sg_list;
      lane.closing->wr = lane.send->head->wr;
    }
    if constexpr (Numbers::kNumbered) put_numbers<Numbers>(loop_state, lane, lane.closing);
    if constexpr (kCredited<Numbers>) {
      if (!await_credit<P>(loop_state, *lane.credit, stop))
        return {.why = LoopResult::Why::stopped};
      ++lane.credit->sent;
    }
    if (const int error = P::Post::post(loop_state, lane, lane.closing); error != 0)
      return post_failure(error);
    ++tally.doorbells;
  }
  while (closed != loop_state.lane_count) {
    const LoopResult end = take_while_closing<Numbers, P>(loop_state, clock, stop, tally, closed);
    if (end.why != LoopResult::Why::done) return end;
  }
  return {};
}

/// When to open and to close the window. Of this limit and the tally's time one rules and the other
/// is out of reach, so the loop need not know which.
struct Window {
  enum class Stage : std::uint8_t { warming, warm, open, closed };

  std::uint64_t goal_messages;  ///< retired: the next stage begins
  std::uint64_t opened_ticks = 0, opened_messages = 0;
  Stage stage = Stage::warming;

  bool reached(std::uint64_t retired, std::uint64_t now, const LoopTally& tally) const noexcept {
    return retired >= goal_messages || over(tally, now);
  }
};

/// Advances the window at a completion that has reached its next mark.
/// @return false: there is nothing more to send
template <class Clock>
bool advance(Window& window, const LoopPlan& plan, std::uint64_t retired, std::uint64_t now,
             const Clock& clock, LoopTally& tally) noexcept {
  using Stage = Window::Stage;
  constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
  WindowBarrier* const windows = plan.windows;
  switch (window.stage) {
    case Stage::warming:
      if (windows != nullptr) windows->reach(WindowBarrier::Step::warm);
      window.stage = Stage::warm;
      [[fallthrough]];
    case Stage::warm:
      window.goal_messages = retired + 1;
      if (windows != nullptr && !windows->reached(WindowBarrier::Step::warm)) return true;
      window.stage = Stage::open;
      window.opened_ticks = now;
      window.opened_messages = retired;
      window.goal_messages = plan.duration_ns == 0 ? retired + plan.operations : kNever;
      set_end(tally, now, plan.duration_ns, clock);
      return true;
    case Stage::open:
      tally.operations = retired - window.opened_messages;
      tally.elapsed_ns = clock.to_ns(now - window.opened_ticks);
      if (windows == nullptr) return false;
      windows->reach(WindowBarrier::Step::closed);
      window.stage = Stage::closed;
      [[fallthrough]];
    case Stage::closed:
      window.goal_messages = retired + 1;
      return !windows->reached(WindowBarrier::Step::closed);
  }
  return false;
}

/// Notes the completions of each QP when the window opens, and when it closes.
inline void note_window(LoopState& loop_state, Window::Stage before, Window::Stage after,
                        bool more) noexcept {
  const bool opens = before != Window::Stage::open && after == Window::Stage::open;
  const bool closes = before == Window::Stage::open && (after != Window::Stage::open || !more);
  for (std::uint32_t i = 0; i < loop_state.lane_count && (opens || closes); ++i) {
    Lane& lane = loop_state.lanes[i];
    (opens ? lane.cqes_opened : lane.cqes_closed) = lane.cqes;
  }
}

/// @tparam kListByList  each list is signaled once: in a full queue a completion makes room for one
///         list, which is posted without the loop that would fill the lane. GCC moves no registers
///         for it
template <bool kListByList, class Numbers, class P>
LoopResult stream(LoopState& loop_state, const LoopPlan& plan, const typename P::Clock& clock,
                  const StopFlag& stop, LoopTally& tally) noexcept {
  const std::uint32_t post_list = loop_state.post_list, signal_every = loop_state.signal_every;
  const std::uint32_t room_to = loop_state.depth - post_list;
  Window window{.goal_messages = plan.warmup};
  Histogram* histogram = tally.scratch;
  std::uint64_t retired = 0, cqes = 0, hits = 0, empties = 0, now = 0;
  LoopResult end;
  ibv_wc wcs[kCqeBatch];
  int error = 0;
  const std::uint64_t begin = clock.now();
  if constexpr (kCredited<Numbers>) {
    error = fill_credited<Numbers, P>(loop_state, room_to, clock);
  } else {
    error = fill_in_turn<Numbers, P>(loop_state, room_to, clock);
    for (std::uint32_t lane = 0; lane < loop_state.lane_count && error == 0; ++lane)
      error = fill<Numbers, P>(loop_state, loop_state.lanes[lane],
                               loop_state.lanes[lane].outstanding, room_to, post_list, clock);
  }
  if (error != 0) return post_failure(error);

  for (;;) {
    const int polled = P::Cq::poll(P::Cq::of(loop_state.send_cq), kCqeBatch, wcs);
    if (polled <= 0) {
      if (polled < 0 || stop.requested()) [[unlikely]] {
        end = no_completion(polled, wcs[0]);
        break;
      }
      ++empties;
      if constexpr (kCredited<Numbers>) {
        error = fill_credited<Numbers, P>(loop_state, room_to, clock);
        if (error != 0) [[unlikely]] {
          end = post_failure(error);
          break;
        }
        if (loop_state.starved) {
          wait_awake<P>(P::Cq::of(loop_state.send_cq));
          continue;
        }
      }
      typename P::Waiter{}(P::Cq::of(loop_state.send_cq));
      continue;
    }
    now = clock.now();
    const ibv_wc* wc = wcs;
    int left = polled;
    do {
      if (wc->status != IBV_WC_SUCCESS) [[unlikely]]
        break;
      const SendList& done = *reinterpret_cast<SendList*>(wc->wr_id);
      histogram->record(clock.to_ns(now - done.stamp));
      Lane& lane = *done.lane;
      if constexpr (kPerQp<Numbers>) ++lane.cqes;
      if constexpr (kTimed<Numbers>) loop_state.times->completions.note(now);
      if constexpr (kCredited<Numbers>) {
        lane.outstanding -= signal_every;
      } else if constexpr (kListByList) {
        SendList& list = *lane.send;
        lane.send = list.next;
        error = post_list_of<Numbers, P>(loop_state, lane, list, clock);
      } else {
        error = fill<Numbers, P>(loop_state, lane, lane.outstanding - signal_every, room_to,
                                 post_list, clock);
      }
      if (error != 0) [[unlikely]]
        break;
      ++wc;
    } while (--left != 0);
    ++hits;
    cqes += static_cast<std::uint64_t>(polled - left);
    if constexpr (kCredited<Numbers>) {
      if (left == 0) error = fill_credited<Numbers, P>(loop_state, room_to, clock);
      if (error != 0) [[unlikely]] {
        end = post_failure(error);
        break;
      }
    }
    if (left != 0) [[unlikely]] {
      end = error != 0 ? post_failure(error) : no_completion(1, *wc);
      break;
    }
    retired = cqes * signal_every;
    tally.progress.store(retired, std::memory_order_relaxed);
    if (!window.reached(retired, now, tally)) [[likely]]
      continue;
    const Window::Stage before = window.stage;
    const bool more = advance(window, plan, retired, now, clock, tally);
    if constexpr (kPerQp<Numbers>) note_window(loop_state, before, window.stage, more);
    if constexpr (kTimed<Numbers>) {  // what follows is not of the window
      if (window.stage == Window::Stage::closed) loop_state.times->stop();
    }
    if (!more) break;
    histogram = window.stage == Window::Stage::open ? tally.latency : tally.scratch;
  }
  tally.cqes = cqes;
  tally.polls = hits + empties;
  tally.total = retired;
  for (std::uint32_t lane = 0; lane < loop_state.lane_count; ++lane)
    tally.total += loop_state.lanes[lane].outstanding;
  if (kListByList && error != 0) tally.total -= post_list;  // retired, and none in its place
  tally.doorbells = tally.total / post_list;
  if (end.why != LoopResult::Why::done) return end;
  const std::uint64_t sent = tally.total;
  tally.total += loop_state.lane_count;
  end = close_traffic<Numbers, P>(loop_state, clock, stop, tally);
  if (end.why == LoopResult::Why::done) tally.progress.store(sent, std::memory_order_relaxed);
  const std::uint64_t closed = clock.now();
  tally.traffic_ns = clock.to_ns(closed - begin);
  if constexpr (kTimed<Numbers>) loop_state.times->end(tally.total, closed);
  return end;
}

template <class Numbers, class P>
LoopResult bandwidth_initiator(LoopState& loop_state, const LoopPlan& plan,
                               const typename P::Clock& clock, const StopFlag& stop,
                               LoopTally& tally) noexcept {
  if constexpr (kCredited<Numbers>)
    return stream<false, Numbers, P>(loop_state, plan, clock, stop, tally);
  return loop_state.signal_every == loop_state.post_list
             ? stream<true, Numbers, P>(loop_state, plan, clock, stop, tally)
             : stream<false, Numbers, P>(loop_state, plan, clock, stop, tally);
}

}  // namespace rdmameter
