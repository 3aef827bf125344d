// SPDX-License-Identifier: Apache-2.0
// The interfaces that verbs has for posting and for polling, as the measured loops use them.
#pragma once

#include "core/engine/loop/loop_state.h"

namespace rdmameter {

/// Posts by ibv_post_send().
struct ClassicPost {
  /// @return 0 or the errno value
  [[gnu::always_inline]] static int post(const LoopState&, const Lane& lane,
                                         ibv_send_wr* head) noexcept {
    return post_classic(lane, head);
  }
};

/// ibv_wr_* or ibv_post_send, by the function that fits the case.
struct ChosenPost {
  [[gnu::always_inline]] static int post(const LoopState& loop_state, const Lane& lane,
                                         ibv_send_wr* head) noexcept {
    return loop_state.post(lane, head);
  }
};

/// Polls by ibv_poll_cq().
struct ClassicCq {
  static constexpr bool kStamps = false;
  using Handle = ibv_cq*;  ///< what a loop keeps in a register
  [[gnu::always_inline]] static Handle of(const CqRing& cqs) noexcept { return cqs.cq; }
  /// @tparam kImmediate  is the immediate looked at?
  /// @return completions taken, 0 for none, negative for a failure
  template <bool kImmediate = false>
  [[gnu::always_inline]] static int poll(ibv_cq* cq, int max, ibv_wc* wcs) noexcept {
    return ibv_poll_cq(cq, max, wcs);
  }
  template <bool kImmediate>
  static int poll_one(CqRing&, ibv_cq* cq, int max, ibv_wc* wcs) noexcept {
    return ibv_poll_cq(cq, max, wcs);
  }
};

/// ibv_start_poll and so on. Of a completion it reads what the loops use. Each one begins and ends
/// a poll of its own: after an ibv_next_poll() that found nothing, ibv_end_poll() is due on mlx5
/// and corrupts the queue on rxe, which has ended the poll by itself.
/// @tparam kStamped  reads the device's timestamp, too
template <bool kStamped>
struct ExtendedCqs {
  static constexpr bool kStamps = false;
  using Handle = ibv_cq*;
  [[gnu::always_inline]] static Handle of(const CqRing& cqs) noexcept { return cqs.cq; }
  template <bool kImmediate = false>
  [[gnu::always_inline]] static int poll(ibv_cq* cq, int max, ibv_wc* wcs) noexcept {
    return take<kImmediate>(cq, max, wcs);
  }
  template <bool kImmediate>
  static int poll_one([[maybe_unused]] CqRing& cqs, ibv_cq* cq, int max, ibv_wc* wcs) noexcept {
    if constexpr (kStamped)
      return take<kImmediate>(cq, max, wcs, cqs.completed_at);
    else
      return take<kImmediate>(cq, max, wcs);
  }

 private:
  /// @param completed_at  where the timestamp goes; not there: it is not read
  template <bool kImmediate, class... Stamp>
  static int take(ibv_cq* plain, int max, ibv_wc* wcs, Stamp&... completed_at) noexcept {
    ibv_cq_ex* const cq = reinterpret_cast<ibv_cq_ex*>(plain);
    ibv_poll_cq_attr attributes{};
    int taken = 0;
    for (; taken < max; ++taken) {
      const int error = ibv_start_poll(cq, &attributes);
      if (error != 0) return error == ENOENT || taken != 0 ? taken : -error;
      read<kImmediate>(*cq, wcs[taken]);
      ((completed_at = ibv_wc_read_completion_ts(cq)), ...);
      ibv_end_poll(cq);
    }
    return taken;
  }
  template <bool kImmediate>
  [[gnu::always_inline]] static void read(ibv_cq_ex& cq, ibv_wc& wc) noexcept {
    wc.wr_id = cq.wr_id;
    wc.status = cq.status;
    if (cq.status != IBV_WC_SUCCESS) [[unlikely]] {
      wc.vendor_err = ibv_wc_read_vendor_err(&cq);
      wc.qp_num = ibv_wc_read_qp_num(&cq);
      return;
    }
    if constexpr (kImmediate) wc.imm_data = ibv_wc_read_imm_data(&cq);
  }
};
using ExtendedCq = ExtendedCqs<false>;

/// Either, of one CQ or several, with timestamps or without, by the function that fits the case.
struct ChosenCq {
  static constexpr bool kStamps = false;
  using Handle = CqRing*;
  [[gnu::always_inline]] static Handle of(CqRing& cqs) noexcept { return &cqs; }
  template <bool kImmediate = false>
  [[gnu::always_inline]] static int poll(CqRing* cqs, int max, ibv_wc* wcs) noexcept {
    return cqs->poll(*cqs, max, wcs);
  }
};
/// The CQ of a loop that keeps timestamps.
struct StampedCq : ChosenCq {
  static constexpr bool kStamps = true;
};

/// Polls CQ after CQ, from the one behind that which had something last, until one has.
template <class Cq, bool kImmediate>
int poll_in_turn(CqRing& cqs, int max, ibv_wc* wcs) noexcept {
  for (std::uint32_t tried = 0; tried < cqs.count; ++tried) {
    ibv_cq* const cq = cqs.all[cqs.next];
    cqs.next = cqs.next + 1 == cqs.count ? 0 : cqs.next + 1;
    const int polled = Cq::template poll_one<kImmediate>(cqs, cq, max, wcs);
    if (polled != 0) return polled;
  }
  return 0;
}

}  // namespace rdmameter
