// SPDX-License-Identifier: Apache-2.0
// CPU time of the calling thread.
#pragma once

#include <cstdint>
#include <ctime>

namespace rdmameter {

/// User and system time since the thread began [ns]. A system call.
inline std::uint64_t thread_cpu_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace rdmameter
