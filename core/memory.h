// SPDX-License-Identifier: Apache-2.0
// Buffers to register: page-aligned, touched before use, on the device's NUMA node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

namespace rdmameter {

/// Anonymous pages, released when the owner goes.
class Buffer {
 public:
  /// Maps and touches `size_bytes` (rounded up to whole pages).
  /// @param numa_node  where to put the pages if the kernel can; nullopt: wherever the kernel likes
  /// @throws VerbsError  no memory
  Buffer(std::size_t size_bytes, std::optional<int> numa_node);

  std::byte* data() const noexcept { return data_.get(); }
  std::size_t size_bytes() const noexcept { return data_.get_deleter().size_bytes; }

 private:
  struct Unmap {
    std::size_t
        size_bytes;  // no initializer: gcc 12 would not find Unmap default constructible here
    void operator()(std::byte* data) const noexcept;
  };
  std::unique_ptr<std::byte, Unmap> data_;
};

}  // namespace rdmameter
