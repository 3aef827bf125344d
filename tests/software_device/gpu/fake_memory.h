// SPDX-License-Identifier: Apache-2.0
// Memory of the stand-ins for drivers of GPUs: it lies in files in memory, behind addresses that
// the CPU may not touch. Each library that includes this has one of its own.
#pragma once

#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>

// Hidden: two such libraries in one process must not share it.
#pragma GCC visibility push(hidden)
namespace fake_gpu {

inline constexpr std::size_t kPage = 4096, kGpuBytes = std::size_t{16} << 30;

struct Allocation {
  int file;
  std::size_t bytes;
};

/// Bytes of an allocation that lie before its file: a dma-buf of CUDA's begins with the memory that
/// it is of, one of HSA's with its allocation.
inline std::size_t before_file = 0;
inline std::mutex mutex;
inline std::map<std::uint64_t, Allocation>& allocations() {
  static auto* const all = new std::map<std::uint64_t, Allocation>;
  return *all;
}

inline std::size_t free_bytes() {
  const std::lock_guard locked(mutex);
  std::size_t used = 0;
  for (const auto& [begin, each] : allocations()) used += each.bytes;
  return kGpuBytes - used;
}

/// It begins 256 bytes behind a page: CUDA promises no more.
/// @return 0: there is not so much
inline std::uint64_t allocate(std::size_t bytes) {
  constexpr std::size_t kBefore = 256;
  const std::size_t room = kPage + (bytes + kPage - 1) / kPage * kPage;
  if (room > free_bytes()) return 0;
  void* const pages =
      mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return 0;
  const int file = memfd_create("fake-gpu", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(room)) != 0) return 0;
  const auto begin = reinterpret_cast<std::uint64_t>(pages);
  const std::lock_guard locked(mutex);
  allocations()[begin] = {file, room};
  return begin + kBefore;
}

inline bool release(std::uint64_t address) {
  const std::lock_guard locked(mutex);
  const auto found = allocations().find(address / kPage * kPage);
  if (found == allocations().end()) return false;
  munmap(reinterpret_cast<void*>(found->first), found->second.bytes);
  close(found->second.file);
  allocations().erase(found);
  return true;
}

/// The file that has the range, borrowed, and where in it; -1: none has it.
inline int file_of(std::uint64_t address, std::size_t bytes, std::uint64_t& offset) {
  const std::lock_guard locked(mutex);
  for (const auto& [begin, each] : allocations()) {
    const std::uint64_t file_at = begin + before_file, size = each.bytes - before_file;
    if (address < file_at || address - file_at > size) continue;
    offset = address - file_at;
    if (bytes <= size - offset) return each.file;
  }
  return -1;
}

inline bool copy_in(std::uint64_t to, const void* from, std::size_t bytes) {
  std::uint64_t at = 0;
  const int file = file_of(to, bytes, at);
  return file >= 0 &&
         pwrite(file, from, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
}

inline bool copy_out(void* to, std::uint64_t from, std::size_t bytes) {
  std::uint64_t at = 0;
  const int file = file_of(from, bytes, at);
  return file >= 0 && pread(file, to, bytes, static_cast<off_t>(at)) == static_cast<ssize_t>(bytes);
}

/// What stands for a dma-buf of such a file. As those of NVIDIA's driver it cannot be mapped where
/// FAKE_GPU_UNMAPPED is set.
inline int new_dmabuf(int file) {
  return std::getenv("FAKE_GPU_UNMAPPED") != nullptr ? eventfd(0, EFD_CLOEXEC)
                                                     : fcntl(file, F_DUPFD_CLOEXEC, 0);
}

}  // namespace fake_gpu
#pragma GCC visibility pop
