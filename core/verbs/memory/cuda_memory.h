// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU, allocated and shared as a dma-buf through CUDA's driver library, which is loaded
// when a case asks for it and needed for nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "core/verbs/memory/memory_file.h"
#include "core/wire/descriptor.h"

namespace rdmameter {

class CudaMemory {
 public:
  /// @param gpu      its number, as CUDA counts
  /// @param allowed  none: nothing is opened, since a client has asked
  /// @throws Unsupported  there is no such GPU, no driver, or one that shares no dma-buf
  /// @throws VerbsError   a call of the driver's failed: its name and what it says
  CudaMemory(const std::string& gpu, std::size_t size_bytes, FileMemory allowed);
  CudaMemory(const CudaMemory&) = delete;
  CudaMemory& operator=(const CudaMemory&) = delete;
  ~CudaMemory();

  int dmabuf() const noexcept { return dmabuf_.get(); }
  /// As the GPU addresses it; the CPU does not.
  std::uint64_t address() const noexcept { return address_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  void write(std::size_t offset, std::span<const std::byte> bytes);
  void read(std::size_t offset, std::span<std::byte> bytes) const;

 private:
  void allocate();
  void release() noexcept;

  std::string option_;
  std::size_t size_bytes_;
  int device_ = 0;
  void* context_ = nullptr;
  std::uint64_t allocation_ = 0, address_ = 0;
  Descriptor dmabuf_;
};

}  // namespace rdmameter
