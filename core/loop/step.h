// SPDX-License-Identifier: Apache-2.0
// The steps that every measured loop is made of. Part of the measured path.
#pragma once

#include "core/loop/traffic.h"
#include "core/stop.h"

namespace rdmameter {

[[gnu::cold]] inline LoopEnd completion_failure(const ibv_wc& wc) noexcept {
  return {.why = LoopEnd::Why::completion_failed,
          .status = wc.status,
          .vendor_err = wc.vendor_err,
          .qp_num = wc.qp_num};
}

/// Posts the lane's next list. Returns 0 or the errno value.
inline int post_next(Lane& lane) noexcept {
  ibv_send_wr* bad;
  const SendList* list = lane.send;
  lane.send = list->next;
  return ibv_post_send(lane.qp, list->head, &bad);
}

/// Counts one receive as taken, and posts a list once a whole list's worth is gone.
inline int replenish(Lane& lane, std::uint32_t recv_list) noexcept {
  if (++lane.arrived != recv_list) return 0;
  lane.arrived = 0;
  ibv_recv_wr* bad;
  const RecvList* list = lane.receive;
  lane.receive = list->next;
  return ibv_post_recv(lane.qp, list->head, &bad);
}

/// Polls `cq` until one completion is there.
/// @return 1, or 0 when asked to stop, or ibv_poll_cq's negative result
template <class Waiter>
int await_completion(ibv_cq* cq, ibv_wc& wc, const StopWord& stop, std::uint64_t& polls) noexcept {
  int polled = ibv_poll_cq(cq, 1, &wc);
  ++polls;
  while (polled == 0) {
    if (stop.requested()) [[unlikely]]
      return 0;
    Waiter{}();
    polled = ibv_poll_cq(cq, 1, &wc);
    ++polls;
  }
  return polled;
}

[[gnu::cold]] inline LoopEnd no_completion(int polled, const ibv_wc& wc) noexcept {
  if (polled == 0) return {.why = LoopEnd::Why::stopped};
  if (polled < 0) return {.why = LoopEnd::Why::poll_failed, .error = polled};
  return completion_failure(wc);
}

/// Waits for the completion of a signaled send and checks it.
/// @return Why::done when it came and was good
template <class Waiter>
LoopEnd reap_send(ibv_cq* cq, const StopWord& stop, std::uint64_t& polls) noexcept {
  ibv_wc wc;
  const int polled = await_completion<Waiter>(cq, wc, stop, polls);
  if (polled <= 0 || wc.status != IBV_WC_SUCCESS) [[unlikely]]
    return no_completion(polled, wc);
  return {};
}

}  // namespace rdmameter
