// SPDX-License-Identifier: Apache-2.0
// Where a process is asked to move bytes of its memory: see wire/agent.h.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tests/software_device/segment/shared_lock.h"

namespace rdmameter::software {

struct Mailbox {
  enum : std::uint32_t { idle, asked, answered };

  SharedLock lock;                   ///< of who asks
  std::atomic<std::uint32_t> state;  ///< a futex
  bool write;                        ///< into the owner's memory
  std::uint64_t address, length;
  std::array<std::byte, 64 << 10> bytes;
};

}  // namespace rdmameter::software
