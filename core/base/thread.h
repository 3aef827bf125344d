// SPDX-License-Identifier: Apache-2.0
// Threads that say what to do where there can be no more of them, and signals of a thread.
#pragma once

#include <signal.h>

#include <cstdint>
#include <ctime>
#include <initializer_list>
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

// Signals of the calling thread.

/// These and no others.
inline sigset_t signal_set(std::initializer_list<int> signals) noexcept {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

/// While this lives, the signals wait.
class BlockedSignals {
 public:
  explicit BlockedSignals(const sigset_t& signals) noexcept {
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(BlockedSignals&&) = delete;

  /// The signals that were blocked before.
  const sigset_t& before() const noexcept { return before_; }

 private:
  sigset_t before_;
};

// CPU time of the calling thread.

/// User and system time since the thread began [ns]. A system call.
inline std::uint64_t thread_cpu_ns() noexcept {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000U +
         static_cast<std::uint64_t>(time.tv_nsec);
}

}  // namespace rdmameter
