// SPDX-License-Identifier: Apache-2.0
// Memory for messages: page-aligned, touched before use, on the device's NUMA node; or
// the device's own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/base/cancel_check.h"
#include "core/result/json_text.h"
#include "core/verbs/handles.h"
#include "core/verbs/memory/gpu_memory.h"
#include "core/verbs/memory/memory_file.h"

namespace rdmameter {

/// The local conditions for an end's memory, which do not depend on the peer.
struct MemoryTerms {
  FileMemory files = FileMemory::none;
  bool gpus = false;  ///< may a GPU be opened?
  CancelCheck cancel_check = {};
};

/// The page that memory of this kind consists of; of device memory and files: the CPU's.
/// @param kind  as TestCase::memory
std::uint64_t page_bytes(std::string_view kind) noexcept;

/// Mapped pages, released when the owner goes.
class Buffer {
 public:
  /// Maps and touches `size_bytes` (rounded up to whole pages).
  /// @param numa_node  where to put the pages if the kernel can; nullopt: wherever the kernel likes
  /// @param kind       as TestCase::memory, but for the device's
  /// @throws Unsupported  there are not so many huge pages: how to reserve them
  /// @throws VerbsError   no memory
  /// @throws as map_file(), make_dmabuf() and `terms.cancel_check`
  Buffer(std::size_t size_bytes, std::optional<int> numa_node, const std::string& kind = {},
         const MemoryTerms& terms = {});

  std::byte* data() const noexcept { return data_.get(); }
  std::size_t size_bytes() const noexcept { return data_.get_deleter().size_bytes; }
  /// The descriptor of the memory's dma-buf; -1: it has none.
  int dmabuf() const noexcept { return dmabuf_.get(); }

 private:
  struct Unmap {
    std::size_t
        size_bytes;  // no initializer: gcc 12 would not find Unmap default constructible here
    void operator()(std::byte* data) const noexcept;
  };
  std::unique_ptr<std::byte, Unmap> data_;
  Descriptor dmabuf_;
};

/// Memory that messages leave from or arrive in, host's, device's or a GPU's, to be
/// registered in parts.
class MessageMemory {
 public:
  /// @param kind  as TestCase::memory
  /// @throws Unsupported  the device has less memory of its own, or none
  /// @throws VerbsError, and as Buffer
  MessageMemory(ibv_context& context, std::uint64_t max_device_bytes, std::size_t size_bytes,
                std::optional<int> numa_node, const std::string& kind, const std::string& where,
                const MemoryTerms& terms, GpuRegistration gpu = GpuRegistration::automatic);

  /// Where byte 0 is for SGEs and peers. Device memory begins at 0.
  std::uint64_t address() const noexcept;
  /// Where it is for the CPU; null: the CPU does not reach it.
  std::byte* host() const noexcept { return buffer_ ? buffer_->data() : nullptr; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  /// Null: it is in none.
  const GpuMemory* gpu() const noexcept { return gpu_.get(); }

  /// Registers a part (of device memory: all of it, since its regions begin at 0).
  /// @param access  IBV_ACCESS_...
  /// @throws VerbsError, Unsupported
  Mr register_part(ibv_pd& pd, std::size_t offset, std::size_t length, int access) const;
  /// The name of the verb that registers it.
  const char* registering_verb() const noexcept;
  /// The verb alone. @return null, with errno, when it is refused
  ibv_mr* try_to_register(ibv_pd& pd, std::size_t offset, std::size_t length,
                          int access) const noexcept;

  /// Calls `edit` with a part's bytes, in place or in a copy that is then written.
  void edit(std::size_t offset, std::size_t length,
            const std::function<void(std::span<std::byte>)>& edit);
  /// Calls `inspect` with the bytes, for reading.
  void inspect(std::size_t offset, std::size_t length,
               const std::function<void(std::span<const std::byte>)>& look) const;

 private:
  /// The dma-buf that regions are of; -1: none.
  int dmabuf() const noexcept;

  std::string where_;
  std::size_t size_bytes_;
  std::optional<Buffer> buffer_;
  Dm device_memory_;
  std::unique_ptr<GpuMemory> gpu_;
};

/// How a GPU's memory is registered, and what is between it and this device, as in a row; empty:
/// it is none's.
Json gpu_facts_of(const MessageMemory& memory, const std::string& device);

// mlx5's devices put the bytes of a small receive on RC and UC into its CQE, and ibv_poll_cq()
// copies them to the address of the receive's SGE (rdma-core, providers/mlx5/qp.c,
// mlx5_copy_to_recv_wqe). Device memory has no address for the CPU: there that crashes.

/// Says to mlx5's provider whether QPs that are made while this exists may do that, by its variable
/// MLX5_SCATTER_TO_CQE. Others that make QPs by this wait. To other providers it says nothing.
class ScatterToCqe {
 public:
  /// @param allowed  true: as the provider does by default, or as the program's user has set it
  explicit ScatterToCqe(bool allowed);
  ~ScatterToCqe();
  ScatterToCqe(ScatterToCqe&&) = delete;

 private:
  const std::lock_guard<std::mutex> alone_;
};

}  // namespace rdmameter
