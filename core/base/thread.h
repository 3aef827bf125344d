// SPDX-License-Identifier: Apache-2.0
// Threads that say what to do where there can be no more of them.
#pragma once

#include <cstdint>
#include <ctime>
#include <system_error>
#include <thread>
#include <utility>

#include "core/base/error.h"

namespace rdmameter {

/// Ends an error about a process or a thread that the kernel refuses with EAGAIN.
inline constexpr const char* kRaiseProcessLimit =
    "Raise the limit on processes (`ulimit -u`, TasksMax in a systemd unit)";

/// Runs `work` on a thread of its own, which the caller joins.
/// @throws MeasurementError  there can be no more threads
template <class Work>
std::thread start_thread(Work&& work) {
  try {
    return std::thread(std::forward<Work>(work));
  } catch (const std::system_error& error) {
    throw MeasurementError("a thread cannot be created: {}. {}.", error.code().message(),
                           kRaiseProcessLimit);
  }
}

// CPU time of the calling thread.

/// User and system time since the thread began [ns]. A system call.
inline std::uint64_t thread_cpu_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace rdmameter
