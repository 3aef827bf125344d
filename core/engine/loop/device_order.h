// SPDX-License-Identifier: Apache-2.0
// The order of reads behind a word in memory that a device has written.
#pragma once

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

}  // namespace rdmameter
