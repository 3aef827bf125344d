// SPDX-License-Identifier: Apache-2.0
// The measured path of a thread that shares its QPs, and their CQ, with others. Each thread posts
// lists of its own, the last WR of each signaled. The thread that polls a completion gives the list
// back to its owner (wr_id is the list), and only the owner posts it again. So nothing is locked
// here: what threads wait for each other for is in the provider, the locks of its queues.
#pragma once

#include "core/engine/loop/bandwidth.h"

namespace rdmameter {

/// Gives a list back to another thread.
[[gnu::always_inline]] inline void give_back(Mailbox& owner, SendList& list) noexcept {
  SendList* last = owner.last.load(std::memory_order_relaxed);
  do {
    list.returned = last;
  } while (!owner.last.compare_exchange_weak(last, &list, std::memory_order_release,
                                             std::memory_order_relaxed));
}

/// The lists that others have given back, the last one first; null: none.
[[gnu::always_inline]] inline SendList* take_returned(Mailbox& own) noexcept {
  if (own.last.load(std::memory_order_relaxed) == nullptr) return nullptr;
  return own.last.exchange(nullptr, std::memory_order_acquire);
}

/// Keeps lists in flight until the window has closed, and then waits for all of them.
/// @tparam kInTurn  a latency: one list at a time, each on the next QP; else all lists of all QPs
template <bool kInTurn, class P>
LoopResult sharer(LoopState& loop_state, const LoopPlan& plan, const typename P::Clock& clock,
                  const StopFlag& stop, LoopTally& tally) noexcept {
  const std::uint32_t post_list = loop_state.post_list;
  Mailbox& mailbox = *loop_state.lanes[0].mailbox;
  Window window{.goal_messages = plan.warmup};
  Histogram* histogram = tally.scratch;
  std::uint64_t lists = 0, empties = 0, hits = 0, posted = 0;
  std::uint64_t now = 0;
  LoopResult end;
  ibv_wc wcs[kCqeBatch];
  bool more = true;
  int error = 0;
  const auto post = [&](SendList& list) noexcept {
    list.stamp = clock.now();
    error = P::Post::post(loop_state, *list.lane, list.head);
    posted += error == 0 ? 1 : 0;
  };

  const std::uint64_t begin = clock.now();
  if constexpr (kInTurn) {
    post(*loop_state.lanes[0].send);
  } else {
    for (std::uint32_t room = loop_state.depth; room >= post_list && error == 0; room -= post_list)
      for (std::uint32_t i = 0; i < loop_state.lane_count && error == 0; ++i) {
        Lane& lane = loop_state.lanes[i];
        post(*lane.send);
        lane.send = lane.send->next;
      }
  }
  while (error == 0 && lists != posted) {
    const int polled = P::Cq::poll(P::Cq::of(loop_state.send_cq), kCqeBatch, wcs);
    SendList* mine = take_returned(mailbox);
    if (polled <= 0 && mine == nullptr) {
      if (polled < 0 || stop.requested()) [[unlikely]] {
        end = no_completion(polled, wcs[0]);
        break;
      }
      ++empties;
      typename P::Waiter{}(P::Cq::of(loop_state.send_cq));
      continue;
    }
    now = clock.now();
    ++hits;
    int taken = 0;
    for (; taken < polled && wcs[taken].status == IBV_WC_SUCCESS; ++taken) {
      SendList& list = *reinterpret_cast<SendList*>(wcs[taken].wr_id);
      list.stamp = now - list.stamp;  // from now on how long it took
      if (Mailbox& owner = *list.lane->mailbox; &owner == &mailbox) {
        list.returned = mine;
        mine = &list;
      } else {
        give_back(owner, list);
      }
    }
    if (taken < polled || polled < 0) [[unlikely]] {
      end = no_completion(polled < 0 ? polled : 1, wcs[taken]);
      break;
    }
    for (SendList* next; mine != nullptr && error == 0; mine = next) {
      next = mine->returned;
      histogram->record(clock.to_ns(mine->stamp));
      ++lists;
      if (more) [[likely]]
        post(kInTurn ? *mine->next : *mine);
    }
    const std::uint64_t retired = lists * post_list;
    tally.progress.store(retired, std::memory_order_relaxed);
    if (!more || !window.reached(retired, now, tally)) [[likely]]
      continue;
    more = advance(window, plan, retired, now, clock, tally);
    histogram = window.stage == Window::Stage::open && more ? tally.latency : tally.scratch;
  }
  tally.cqes = lists;
  tally.polls = hits + empties;
  tally.doorbells = posted;
  tally.total = posted * post_list;
  if (error != 0) return post_failure(error);
  tally.traffic_ns = clock.to_ns(clock.now() - begin);
  return end;
}

}  // namespace rdmameter
