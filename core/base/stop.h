// SPDX-License-Identifier: Apache-2.0
// The one word that ends a waiting loop from outside.
#pragma once

#include <atomic>
#include <cstdint>

namespace rdmameter {

/// Why a loop was asked to end. A loop reads the word on empty polls only.
enum class StopReason : std::uint32_t {
  none = 0,         ///< go on
  finish = 1,       ///< the peer has sent everything: take what has arrived, then end
  peer = 2,         ///< the peer sent what was not expected, or closed the connection
  deadline = 3,     ///< the session's deadline passed
  interrupted = 4,  ///< SIGINT or SIGTERM
  sibling = 5,      ///< another thread of the case has failed
};

/// Written by the session's thread or a signal handler, read by the measuring thread. It has a
/// cache line of its own so that no other write disturbs a spinning reader.
struct alignas(64) StopFlag {
  std::atomic<std::uint32_t> word{0};
  static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "set from a signal handler");

  StopReason reason() const noexcept {
    return static_cast<StopReason>(word.load(std::memory_order_relaxed));
  }
  bool requested() const noexcept { return word.load(std::memory_order_relaxed) != 0; }

  /// The first reason to stop for good wins; `finish` gives way to any of them.
  void request(StopReason reason) noexcept {
    std::uint32_t seen = word.load(std::memory_order_relaxed);
    while (seen <= static_cast<std::uint32_t>(StopReason::finish) &&
           !word.compare_exchange_weak(seen, static_cast<std::uint32_t>(reason),
                                       std::memory_order_relaxed)) {
    }
  }
};

}  // namespace rdmameter
