// SPDX-License-Identifier: Apache-2.0
// Registered memory of a real GPU, whose dma-buf cannot be mapped: its driver's library moves the
// bytes, in the process that has registered them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rdmameter::software {

/// Where memory of one of the stand-ins for drivers lies (gpu/); nothing: it is none's.
struct GpuPart {
  int file;
  std::uint64_t offset;
};
std::optional<GpuPart> fake_gpu_part(std::uint64_t address, std::size_t length);

/// @return false: no library that this process has loaded knows the address as a GPU's
bool note_gpu_memory(std::uint64_t address, std::size_t length);
void forget_gpu_memory(std::uint64_t address);

/// Copies within this process if one of the two is noted. @return false: neither is
bool copy_gpu_bytes(std::byte* to, const std::byte* from, std::size_t length);

}  // namespace rdmameter::software
