// SPDX-License-Identifier: Apache-2.0
// The memory that all processes of a session share: one file of /dev/shm, mapped at different
// addresses, so objects in it name each other by their offsets.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "tests/software_device/segment/shared_lock.h"

namespace rdmameter::software {

/// Where this process has mapped it. Atomic since a forked child forgets it.
inline std::atomic<std::byte*> segment_base{nullptr};

inline std::byte* segment_at(std::uint64_t offset) {
  return segment_base.load(std::memory_order_relaxed) + offset;
}

/// Where a T lies in the segment; 0: nowhere.
template <class T>
struct Offset {
  std::uint64_t bytes;

  explicit operator bool() const { return bytes != 0; }
  T* get() const { return reinterpret_cast<T*>(segment_at(bytes)); }
  T* operator->() const { return get(); }
  T& operator*() const { return *get(); }
};

template <class T>
Offset<T> offset_of(const T* object) {
  return {static_cast<std::uint64_t>(reinterpret_cast<const std::byte*>(object) - segment_at(0))};
}

/// Maps the segment on first use in this process; later calls do nothing.
/// @return an errno value, 0: done
int attach();

/// This process's place in the table of processes.
std::uint32_t own_process() noexcept;
std::uint32_t pid_of(std::uint32_t process) noexcept;

/// Has the process at this place ended? Asks the kernel at most once in 20 ms: of many
/// processes on a few CPUs each has as many peers, and comes to one of them seldom.
bool process_gone(std::uint32_t process) noexcept;

/// Memory of the segment, aligned to 64 bytes, not zeroed.
/// @return 0: the segment is full
std::uint64_t allocate(std::size_t bytes) noexcept;
void release(std::uint64_t offset, std::size_t bytes) noexcept;

/// A T made in the segment. It goes by destroy_shared().
template <class T>
Offset<T> make_shared_object() {
  const std::uint64_t offset = allocate(sizeof(T));
  if (offset != 0) new (segment_at(offset)) T();
  return {offset};
}
template <class T>
void destroy_shared(Offset<T> object) {
  if (object) release(object.bytes, sizeof(T));
}

}  // namespace rdmameter::software
