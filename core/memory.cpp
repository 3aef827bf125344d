// SPDX-License-Identifier: Apache-2.0
#include "core/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstring>

#include "core/check.h"

namespace rdmameter {
namespace {

/// Asks for pages on one node, by the system call itself: libnuma would be a dependency for one
/// line. A refusal (no NUMA, not allowed) leaves the kernel's own placement, which is only slower.
void prefer_node(std::byte* data, std::size_t size_bytes, int node) {
  constexpr int kPreferred = 1;  // MPOL_PREFERRED of <linux/mempolicy.h>
  constexpr int kBits = sizeof(unsigned long) * CHAR_BIT;
  if (node < 0 || node >= kBits) return;
  const unsigned long mask = 1UL << node;
  syscall(SYS_mbind, data, size_bytes, kPreferred, &mask, kBits, 0);
}

}  // namespace

void Buffer::Unmap::operator()(std::byte* data) const noexcept {
  munmap(data, size_bytes);
}

Buffer::Buffer(std::size_t size_bytes, std::optional<int> numa_node) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t mapped = (size_bytes + page - 1) / page * page + (size_bytes == 0 ? page : 0);
  void* data = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED) throw_failure("mmap", fmt::format("buffer of {} bytes", mapped), errno);
  data_ = {static_cast<std::byte*>(data), Unmap{mapped}};
  if (numa_node) prefer_node(data_.get(), mapped, *numa_node);
  std::memset(data, 0, mapped);
}

}  // namespace rdmameter
