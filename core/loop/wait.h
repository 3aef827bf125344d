// SPDX-License-Identifier: Apache-2.0
// What a measured loop does with an empty poll of a CQ.
#pragma once

#include <infiniband/verbs.h>
#include <poll.h>
#include <sched.h>

#include <cstdint>

namespace rdmameter {

/// Polls again at once: the shortest latency, a core of its own.
struct SpinWait {
  static constexpr bool kSleeps = false;
  void operator()(ibv_cq*) const noexcept {}
};

/// Gives the core away between polls: where both ends share one core, a spinning end would keep the
/// other from answering until its time slice is over.
struct YieldWait {
  static constexpr bool kSleeps = false;
  void operator()(ibv_cq*) const noexcept { sched_yield(); }
};

/// What a CQ's events need; the CQ's cq_context points to it.
struct CqEvents {
  ibv_comp_channel* channel = nullptr;
  bool armed = false;
  std::uint32_t unacknowledged = 0;  ///< ibv_destroy_cq() waits for these
};

/// Sleeps until the CQ says that it has a completion. An event is asked for only by a poll that
/// found nothing, and the CQ polled once more before the sleep: what completed in between would
/// raise no event (ibv_get_cq_event(3)).
struct EventWait {
  static constexpr bool kSleeps = true;
  static constexpr int kNap_ms = 1;                       ///< then the stop word is looked at
  static constexpr std::uint32_t kAcknowledgeEvery = 64;  ///< it takes a lock

  void operator()(ibv_cq* cq) const noexcept {
    auto& events = *static_cast<CqEvents*>(cq->cq_context);
    if (!events.armed) {
      events.armed = ibv_req_notify_cq(cq, 0) == 0;
      return;
    }
    pollfd channel{events.channel->fd, POLLIN, 0};
    if (::poll(&channel, 1, kNap_ms) <= 0) return;
    ibv_cq* ready;
    void* context;
    if (ibv_get_cq_event(events.channel, &ready, &context) != 0) return;
    events.armed = false;
    if (++events.unacknowledged < kAcknowledgeEvery) return;
    ibv_ack_cq_events(cq, events.unacknowledged);
    events.unacknowledged = 0;
  }
};

}  // namespace rdmameter
