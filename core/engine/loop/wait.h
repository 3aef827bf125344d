// SPDX-License-Identifier: Apache-2.0
// What a measured loop does with an empty poll of a CQ.
#pragma once

#include <infiniband/verbs.h>
#include <poll.h>
#include <sched.h>

#include <cstdint>

#include "core/engine/loop/loop_state.h"

namespace rdmameter {

/// Polls again at once: the shortest latency, a core of its own.
struct SpinWait {
  static constexpr bool kSleeps = false;
  template <class Cq>
  void operator()(const Cq*) const noexcept {}
};

/// Gives the core away between polls: where both ends share one core, a spinning end would keep the
/// other from answering until its time slice is over.
struct YieldWait {
  static constexpr bool kSleeps = false;
  template <class Cq>
  void operator()(const Cq*) const noexcept {
    sched_yield();
  }
};

/// The state for a CQ's events; the CQ's cq_context points to it.
struct CqEvents {
  ibv_comp_channel* channel = nullptr;
  bool armed = false;
  std::uint32_t unacknowledged = 0;  ///< ibv_destroy_cq() waits for these
};

/// Sleeps until a CQ says that it has a completion. An event is asked for only by a poll that found
/// nothing, and the CQs polled once more before the sleep: what completed in between would raise no
/// event (ibv_get_cq_event(3)).
struct EventWait {
  static constexpr bool kSleeps = true;
  static constexpr int kNap_ms = 1;                       ///< then the stop word is looked at
  static constexpr std::uint32_t kAcknowledgeEvery = 64;  ///< it takes a lock

  void operator()(ibv_cq* cq) const noexcept {
    const CqRing alone{.cq = cq, .all = &cq};
    operator()(&alone);
  }
  void operator()(const CqRing* cqs) const noexcept {
    bool all_armed = true;
    for (std::uint32_t i = 0; i < cqs->count; ++i) {
      auto& events = *static_cast<CqEvents*>(cqs->all[i]->cq_context);
      if (events.armed) continue;
      events.armed = ibv_req_notify_cq(cqs->all[i], 0) == 0;
      all_armed = false;
    }
    if (!all_armed) return;
    ibv_comp_channel* const shared = static_cast<CqEvents*>(cqs->cq->cq_context)->channel;
    pollfd channel{shared->fd, POLLIN, 0};
    if (::poll(&channel, 1, kNap_ms) <= 0) return;
    ibv_cq* ready;
    void* context;
    if (ibv_get_cq_event(shared, &ready, &context) != 0) return;
    auto& events = *static_cast<CqEvents*>(context);
    events.armed = false;
    if (++events.unacknowledged < kAcknowledgeEvery) return;
    ibv_ack_cq_events(ready, events.unacknowledged);
    events.unacknowledged = 0;
  }
};

}  // namespace rdmameter
