// SPDX-License-Identifier: Apache-2.0
// Memory for messages: page-aligned, touched before use, on the device's NUMA node; or the device's
// own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "core/handles.h"

namespace rdmameter {

/// Mapped pages, released when the owner goes.
class Buffer {
 public:
  /// Maps and touches `size_bytes` (rounded up to whole pages).
  /// @param numa_node  where to put the pages if the kernel can; nullopt: wherever the kernel likes
  /// @param kind       as Case::memory, but for the device's
  /// @throws Unsupported  there are not so many huge pages: how to reserve them
  /// @throws VerbsError   no memory; the file cannot be mapped
  Buffer(std::size_t size_bytes, std::optional<int> numa_node, const std::string& kind = {});

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

/// Memory that messages leave from or arrive in, host's or device's, to be registered in parts.
class MessageMemory {
 public:
  /// @param kind  as Case::memory
  /// @throws Unsupported  the device has not so much memory of its own, or none
  /// @throws VerbsError
  MessageMemory(ibv_context& context, std::uint64_t most_device_bytes, std::size_t size_bytes,
                std::optional<int> numa_node, const std::string& kind, const std::string& where);

  /// Where byte 0 is for SGEs and peers. Device memory begins at 0.
  std::uint64_t address() const noexcept;
  /// Where it is for the CPU; null: the CPU does not reach it.
  std::byte* host() const noexcept { return buffer_ ? buffer_->data() : nullptr; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }

  /// Registers a part (of device memory: all of it, since its regions begin at 0).
  /// @param access  IBV_ACCESS_...
  /// @throws VerbsError, Unsupported
  Mr register_part(ibv_pd& pd, std::size_t offset, std::size_t length, int access) const;
  /// The verb alone. @return null, with errno, when it is refused
  ibv_mr* try_to_register(ibv_pd& pd, std::size_t offset, std::size_t length,
                          int access) const noexcept;

  /// Calls `edit` with a part's bytes, in place or in a copy that is then written back.
  void edit(std::size_t offset, std::size_t length,
            const std::function<void(std::span<std::byte>)>& edit);
  /// The same, for reading.
  void inspect(std::size_t offset, std::size_t length,
               const std::function<void(std::span<const std::byte>)>& look) const;

 private:
  std::string where_;
  std::size_t size_bytes_;
  std::optional<Buffer> buffer_;
  Dm device_memory_;
};

}  // namespace rdmameter
