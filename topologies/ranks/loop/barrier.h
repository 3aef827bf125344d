// SPDX-License-Identifier: Apache-2.0
// The measured path of a barrier over RDMA: dissemination (Hensgen, Finkel and Manber, 1988). In
// step k a rank tells the one 2^k ahead, and waits for the one 2^k behind; after log2(n) steps each
// has heard of all. A word is written into the other's memory, by QPs that carry nothing else. It
// is twice the barrier's number, and one more once a rank has raised the alarm: so all ranks that
// pass a barrier know whether any of them has.
#pragma once

#include "core/engine/loop/step.h"

namespace rdmameter {

/// Goes between the poll that sees such a word and reads of what else the device had written by
/// then: a weakly ordered CPU may have read that before the word. A completion needs none, since
/// ibv_poll_cq() has it within; nor do a store or a post that depends on the word. Modelled on
/// rdma-core's udma_from_device_barrier(): on x86 no instruction.
[[gnu::always_inline]] inline void order_reads_after_poll() noexcept {
#if defined(__x86_64__)
  asm volatile("" ::: "memory");
#elif defined(__aarch64__)
  asm volatile("dmb oshld" ::: "memory");
#else
  __sync_synchronize();
#endif
}

struct BarrierStep {
  ibv_qp* qp = nullptr;
  ibv_send_wr wr;                                    ///< writes `Barrier::epoch` ahead
  const volatile std::uint64_t* received = nullptr;  ///< what the one behind has written
};

struct Barrier {
  BarrierStep* steps = nullptr;
  std::uint32_t count = 0;
  ibv_cq* cq = nullptr;
  volatile std::uint64_t* epoch = nullptr;  ///< registered; the word of this barrier
  std::uint32_t at = 0, unretired = 0;
  bool sent = false;   ///< the write of this step
  bool alarm = false;  ///< this rank raises it with its next barrier
  LoopResult end;

  /// Has any rank, with the barrier that was passed last?
  bool alarmed() const noexcept { return (*epoch & 1) != 0; }

  /// Arrives at the barrier. Called once; then passed() is called until it returns true.
  void arrive() noexcept {
    at = 0;
    sent = false;
    begun_ = false;
  }

  /// Does what can be done now. @return  have all ranks arrived?
  bool passed() noexcept {
    if (!begun_) {
      // A write of the last barrier must not carry this one's number: its WR reads the word.
      if (!retired()) return false;
      *epoch = (*epoch | 1) + 1 + (alarm ? 1 : 0);
      alarm = false;
      begun_ = true;
    }
    while (at < count) {
      if (!sent && !send()) return false;
      // A rank that is at the next barrier has passed this one, and there was no alarm.
      const std::uint64_t received = *steps[at].received, own = *epoch;
      if ((received | 1) < (own | 1)) return false;
      if (received == (own | 1)) *epoch = received;
      ++at;
      sent = false;
    }
    order_reads_after_poll();  // of what others have written here before they came to the barrier
    return true;
  }

  /// Have all writes of this rank arrived?
  bool retired() noexcept {
    ibv_wc wc;
    while (unretired != 0) {
      const int polled = ibv_poll_cq(cq, 1, &wc);
      if (polled == 0) return false;
      if (!good(polled, wc)) [[unlikely]] {
        end = no_completion(polled, wc);
        return false;
      }
      --unretired;
    }
    return true;
  }

 private:
  bool send() noexcept {
    ibv_send_wr* bad;
    if (const int error = ibv_post_send(steps[at].qp, &steps[at].wr, &bad); error != 0)
        [[unlikely]] {
      end = post_failure(error);
      return false;
    }
    ++unretired;
    return sent = true;
  }

  bool begun_ = false;
};

}  // namespace rdmameter
