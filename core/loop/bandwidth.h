// SPDX-License-Identifier: Apache-2.0
// The measured path of bandwidth at the initiator: every QP's queue kept full, each completion at
// once answered by as many new posts as it made room for. The window opens at the completion that
// ends the warm-up, the pipe full, and closes at the last counted one; posting goes on until it
// closes.
#pragma once

#include "core/loop/step.h"

namespace rdmameter {

inline constexpr int kPollBatch = 16;

/// Posts lists while the lane has room for one. A signaled WR leaves the time of its post.
template <class Clock>
int fill(const Traffic& traffic, Lane& lane, const Clock& clock,
         std::uint64_t& doorbells) noexcept {
  std::uint32_t outstanding = lane.outstanding;
  const std::uint32_t most = traffic.depth - traffic.post_list;
  while (outstanding <= most) {
    if (const std::uint32_t signaled = lane.send->signaled; signaled != 0) {
      const std::uint64_t now = clock.now();
      for (std::uint32_t i = 0; i < signaled; ++i)
        lane.stamps[lane.stamp_in++ & lane.stamp_mask] = now;
    }
    if (const int error = post_next(lane); error != 0) [[unlikely]]
      return error;
    outstanding += traffic.post_list;
    ++doorbells;
  }
  lane.outstanding = outstanding;
  return 0;
}

/// The window, in ticks and messages. Which of the two limits rules was decided before: the other
/// is never reached.
struct Window {
  std::uint64_t close_after_messages, close_after_ticks;
  std::uint64_t opened_at = 0, opened_with = 0;  ///< [ticks], [messages retired]
  bool open = false;
};

/// Posts one signaled WR on every lane and waits for all of them, so that everything before them is
/// retired too. Not timed.
template <class Waiter>
LoopEnd close_traffic(Traffic& traffic, const StopWord& stop, LoopTally& tally) {
  ibv_wc wc;
  std::uint32_t unfinished = traffic.lane_count;
  for (std::uint32_t lane = 0; lane < traffic.lane_count; ++lane) {
    ibv_send_wr* bad;
    Lane& one = traffic.lanes[lane];
    while (one.outstanding == traffic.depth) {  // another lane's completion may come first
      const int polled = await_completion<Waiter>(traffic.send_cq, wc, stop, tally.polls);
      if (polled <= 0 || wc.status != IBV_WC_SUCCESS) return no_completion(polled, wc);
      if ((wc.wr_id & kClosingBit) != 0)
        --unfinished;
      else
        traffic.lanes[wc.wr_id].outstanding -= traffic.signal_every;
    }
    if (const int error = ibv_post_send(one.qp, one.closing, &bad); error != 0)
      return {.why = LoopEnd::Why::post_failed, .error = error};
    ++tally.total;
  }
  while (unfinished != 0) {
    const int polled = await_completion<Waiter>(traffic.send_cq, wc, stop, tally.polls);
    if (polled <= 0 || wc.status != IBV_WC_SUCCESS) return no_completion(polled, wc);
    if ((wc.wr_id & kClosingBit) != 0) --unfinished;
  }
  return {};
}

template <class Clock, class Waiter>
LoopEnd bandwidth_initiator(Traffic& traffic, const LoopPlan& plan, const Clock& clock,
                            const StopWord& stop, LoopTally& tally) {
  constexpr std::uint64_t kEver = std::numeric_limits<std::uint64_t>::max();
  Window window{
      .close_after_messages = plan.duration_ns == 0 ? plan.operations : kEver,
      .close_after_ticks = plan.duration_ns == 0 ? kEver : clock.to_ticks(plan.duration_ns)};
  Histogram* histogram = tally.scratch;
  std::uint64_t retired = 0, retire_goal = plan.warmup, doorbells = 0, polls = 0, now = 0;
  LoopEnd end;
  ibv_wc wcs[kPollBatch];
  int error = 0;
  for (std::uint32_t lane = 0; lane < traffic.lane_count && error == 0; ++lane)
    error = fill(traffic, traffic.lanes[lane], clock, doorbells);

  while (error == 0) {
    const int polled = ibv_poll_cq(traffic.send_cq, kPollBatch, wcs);
    ++polls;
    if (polled <= 0) {
      if (polled < 0) [[unlikely]] {
        end = {.why = LoopEnd::Why::poll_failed, .error = polled};
        break;
      }
      if (stop.requested()) [[unlikely]] {
        end = {.why = LoopEnd::Why::stopped};
        break;
      }
      Waiter{}();
      continue;
    }
    now = clock.now();
    for (int i = 0; i < polled; ++i) {
      if (wcs[i].status != IBV_WC_SUCCESS) [[unlikely]] {
        end = completion_failure(wcs[i]);
        break;
      }
      Lane& lane = traffic.lanes[wcs[i].wr_id];
      histogram->record(clock.to_ns(now - lane.stamps[lane.stamp_out++ & lane.stamp_mask]));
      lane.outstanding -= traffic.signal_every;
      retired += traffic.signal_every;
      error = fill(traffic, lane, clock, doorbells);
      if (error != 0) [[unlikely]]
        break;
    }
    tally.progress.store(retired, std::memory_order_relaxed);
    if (end.why != LoopEnd::Why::done) [[unlikely]]
      break;
    if (retired < retire_goal && now - window.opened_at < window.close_after_ticks) continue;
    if (window.open) break;
    if (retired < retire_goal) continue;  // duration mode: still warming up
    window.open = true;
    window.opened_at = now;
    window.opened_with = retired;
    retire_goal =
        window.close_after_messages == kEver ? kEver : retired + window.close_after_messages;
    histogram = tally.latency;
  }
  if (error != 0) end = {.why = LoopEnd::Why::post_failed, .error = error};
  if (window.open) {
    tally.operations = retired - window.opened_with;
    tally.elapsed_ns = clock.to_ns(now - window.opened_at);
  }
  tally.total = doorbells * traffic.post_list;
  tally.doorbells = doorbells;
  tally.polls = polls;
  return end.why == LoopEnd::Why::done ? close_traffic<Waiter>(traffic, stop, tally) : end;
}

}  // namespace rdmameter
