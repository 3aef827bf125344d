// SPDX-License-Identifier: Apache-2.0
// The positions of a ring in the segment: what completion and receive queues have in common.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "tests/software_device/segment/shared_lock.h"

namespace rdmameter::software {

/// Producers write at head() and then push(), consumers read at tail() and then pop(), each side
/// under its lock. Positions count up until rewind(); slot_of() tells where one lies.
class Ring {
 public:
  /// @param limit  entries that it takes
  explicit Ring(std::uint32_t limit = 1) : mask_(slots_for(limit) - 1), limit_(limit) {}

  static std::uint32_t slots_for(std::uint32_t limit) { return std::bit_ceil(limit); }

  SharedLock producers, consumers;

  std::uint32_t limit() const { return limit_; }
  std::uint32_t slot_of(std::uint32_t position) const { return position & mask_; }
  std::uint32_t head() const { return head_.load(std::memory_order_acquire); }
  std::uint32_t tail() const { return tail_.load(std::memory_order_acquire); }
  bool empty() const { return head() == tail(); }
  bool full() const { return head() - tail() >= limit_; }
  void push() { head_.store(head_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  void pop() { tail_.store(tail_.load(std::memory_order_relaxed) + 1, std::memory_order_release); }
  /// With both locks held: only what lies below `head` is left.
  void cut(std::uint32_t head) { head_.store(head, std::memory_order_release); }
  /// With the consumers' lock held: an empty ring begins anew, so that few of its pages are used.
  /// Each process that writes there takes a page fault for each of them.
  void rewind_if_empty() {
    if (!empty() || !producers.try_lock()) return;
    if (empty()) {
      head_.store(0, std::memory_order_release);
      tail_.store(0, std::memory_order_release);
    }
    producers.unlock();
  }

 private:
  std::uint32_t mask_, limit_;
  alignas(64) std::atomic<std::uint32_t> head_{0};
  alignas(64) std::atomic<std::uint32_t> tail_{0};
};

}  // namespace rdmameter::software
