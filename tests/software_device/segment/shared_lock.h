// SPDX-License-Identifier: Apache-2.0
// What keeps processes that share memory out of each other's way.
#pragma once

#include <sched.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "tests/software_device/segment/process.h"

namespace rdmameter::software {

/// A mutex for memory that processes share; zeroed memory is an unlocked one. Whoever waits takes
/// it over from a holder that was killed, and lets one run that was stopped.
class SharedLock {
 public:
  void lock() noexcept {
    if (!try_lock()) wait();
  }
  bool try_lock() noexcept {
    std::uint32_t nobody = 0;
    return holder_.compare_exchange_strong(nobody, own_pid(), std::memory_order_acquire,
                                           std::memory_order_relaxed);
  }
  void unlock() noexcept { holder_.store(0, std::memory_order_release); }

 private:
  /// Tells the CPU that this thread spins.
  static void pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  void wait() noexcept {
    // On a busy machine a yield lasts for milliseconds.
    constexpr unsigned kSpins = 128, kYieldsPerCheck = 64;
    HolderWatch watch;
    for (unsigned round = 1; !try_lock(); ++round) {
      if (round < kSpins) {
        pause();
        continue;
      }
      sched_yield();
      if (round % kYieldsPerCheck == 0) take_over(watch);
    }
  }
  void take_over(HolderWatch& watch) noexcept {
    std::uint32_t holder = holder_.load(std::memory_order_relaxed);
    if (holder != 0 && holder != own_pid() && watch.ended(holder))
      holder_.compare_exchange_strong(holder, 0, std::memory_order_acq_rel);
  }

  std::atomic<std::uint32_t> holder_;  ///< its pid
};

/// Counts, for each process, who works with an entry of a table, so that it is not reused
/// meanwhile. Zeroed memory is an entry that nobody uses.
///
/// A user enters, then looks whether the entry is still valid. An owner makes it invalid, then
/// waits for the users. All of it is sequentially consistent, so one of the two sees the other.
/// Users of a process that was killed are not waited for; one that was stopped is let run.
class UseCount {
 public:
  void enter() noexcept {
    HolderWatch watch;
    for (unsigned round = 1; !try_enter(); ++round) pause(round, watch);
  }
  void leave() noexcept {
    const auto one_less = [](std::uint64_t users) { return count_of(users) == 1 ? 0 : users - 1; };
    // Another thread of this process may have emptied the slot: then there is one in another.
    while (!change_own(one_less)) continue;
  }
  void await_none() noexcept {
    HolderWatch watch;
    for (unsigned round = 1; is_used(); ++round) pause(round, watch);
  }

 private:
  static constexpr std::size_t kProcesses = 8;  ///< that use an entry at once; others wait

  static std::uint32_t pid_of(std::uint64_t users) {
    return static_cast<std::uint32_t>(users >> 32);
  }
  static std::uint32_t count_of(std::uint64_t users) { return static_cast<std::uint32_t>(users); }

  bool is_used() const noexcept {
    for (const auto& slot : slots_)
      if (slot.load() != 0) return true;
    return false;
  }
  /// Changes the first slot of this process. @return false: it has none
  template <class Change>
  bool change_own(Change change) noexcept {
    const std::uint32_t pid = own_pid();
    for (auto& slot : slots_) {
      std::uint64_t users = slot.load();
      while (pid_of(users) == pid)
        if (slot.compare_exchange_weak(users, change(users))) return true;
    }
    return false;
  }
  /// One more user in the slot of this process; without one, in the first free slot.
  bool try_enter() noexcept {
    if (change_own([](std::uint64_t users) { return users + 1; })) return true;
    for (auto& slot : slots_) {
      std::uint64_t nobody = 0;
      if (slot.compare_exchange_strong(nobody, std::uint64_t{own_pid()} << 32 | 1)) return true;
    }
    return false;
  }
  void pause(unsigned round, HolderWatch& watch) noexcept {
    constexpr unsigned kYieldsPerCheck = 64;
    sched_yield();
    if (round % kYieldsPerCheck == 0) free_slots_of_killed(watch);
  }
  void free_slots_of_killed(HolderWatch& watch) noexcept {
    for (auto& slot : slots_) {
      std::uint64_t users = slot.load();
      if (users != 0 && pid_of(users) != own_pid() && watch.ended(pid_of(users)))
        slot.compare_exchange_strong(users, 0);
    }
  }

  std::array<std::atomic<std::uint64_t>, kProcesses>
      slots_;  ///< a pid, and how many of its threads
};

}  // namespace rdmameter::software
