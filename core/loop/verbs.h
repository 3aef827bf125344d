// SPDX-License-Identifier: Apache-2.0
// The two interfaces that verbs has for posting and for polling, as the measured loops use them.
#pragma once

#include "core/loop/traffic.h"

namespace rdmameter {

/// ibv_post_send.
struct ClassicPost {
  /// @return 0 or the errno value
  [[gnu::always_inline]] static int post(const Traffic&, const Lane& lane,
                                         ibv_send_wr* head) noexcept {
    ibv_send_wr* bad;
    return ibv_post_send(lane.qp, head, &bad);
  }
};

/// ibv_wr_*, by the function that fits the case.
struct ExtendedPost {
  [[gnu::always_inline]] static int post(const Traffic& traffic, const Lane& lane,
                                         ibv_send_wr* head) noexcept {
    return traffic.post(lane.extended_qp, head);
  }
};

/// ibv_poll_cq.
struct ClassicCq {
  /// @tparam kImmediate  is the immediate looked at?
  /// @return completions taken, 0 for none, negative for a failure
  template <bool kImmediate = false>
  [[gnu::always_inline]] static int poll(ibv_cq* cq, int most, ibv_wc* wcs) noexcept {
    return ibv_poll_cq(cq, most, wcs);
  }
};

/// ibv_start_poll and so on. Of a completion it reads what the loops use. Each one begins and ends
/// a poll of its own: after an ibv_next_poll() that found nothing, ibv_end_poll() is due on mlx5
/// and corrupts the queue on rxe, which has ended the poll by itself.
struct ExtendedCq {
  template <bool kImmediate = false>
  static int poll(ibv_cq* plain, int most, ibv_wc* wcs) noexcept {
    ibv_cq_ex* const cq = reinterpret_cast<ibv_cq_ex*>(plain);
    ibv_poll_cq_attr attributes{};
    int taken = 0;
    for (; taken < most; ++taken) {
      const int error = ibv_start_poll(cq, &attributes);
      if (error != 0) return error == ENOENT || taken != 0 ? taken : -error;
      read<kImmediate>(*cq, wcs[taken]);
      ibv_end_poll(cq);
    }
    return taken;
  }

 private:
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

}  // namespace rdmameter
