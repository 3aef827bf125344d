// SPDX-License-Identifier: Apache-2.0
// What is on its way: send queues whose oldest request must wait, by the time at which it is due.
// Whoever polls, in any process, moves what is due; so does a thread of each process that waits.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <limits>

#include "tests/software_device/segment/shared_lock.h"

namespace rdmameter::software {

inline constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();

struct Due {
  std::uint64_t when_ns;
  std::uint32_t qpn;
};

/// A heap, in the segment. A QP is in it at most once.
template <std::uint32_t Capacity>
struct WireState {
  SharedLock lock;
  std::atomic<std::uint32_t> count;
  std::atomic<std::uint64_t> next_ns;  ///< of the first one, meaningless while count is 0
  std::array<Due, Capacity> heap;
};

/// A QP's send queue is due at a time; it must not be on the wire yet.
void put_on_wire(Due due);

/// If the QP is on the wire, it is due now.
void hasten(std::uint32_t qpn);

/// A QP goes: so does what it has on the wire.
void take_off_wire(std::uint32_t qpn);

/// Moves everything that is due by now.
void move_what_is_due();

/// To be called by every poll: costs a load while nothing waits.
void poll_wire();

}  // namespace rdmameter::software
