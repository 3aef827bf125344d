// SPDX-License-Identifier: Apache-2.0
// Memory of a GPU, and how it is registered: as a dma-buf, or by its address.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/test_case/test_case.h"
#include "core/wire/wait.h"

namespace rdmameter {

// The kinds of GPUs, and what of their drivers' libraries is used. A library is loaded when a case
// asks for it, and needed for nothing else.

/// A GPU of one kind, as its library knows it.
struct Gpu {
  std::string memory;       ///< "cuda:0", for texts
  std::string which;        ///< its number or bus ID
  int number = 0;           ///< of the library
  void* context = nullptr;  ///< CUDA's
  std::string bus_id;       ///< "0000:17:00.0", as sysfs writes it; empty: not known
};

/// A dma-buf, and where in it the shared memory begins.
struct SharedPart {
  Descriptor dmabuf;
  std::uint64_t offset = 0;
};

/// All but free() throw VerbsError for a call that failed: its name and what it says.
struct Accelerator {
  std::string_view memory;  ///< what begins a `memory` of this kind
  /// Loads the library, finds the GPU and its bus ID, and makes it this thread's.
  /// @throws Unsupported  there is no such GPU, or no driver
  void (*open)(Gpu&);
  void (*use)(const Gpu&);  ///< makes it this thread's: before each of the following
  std::uint64_t (*allocate)(const Gpu&, std::size_t bytes);
  /// @param pcie  as the device behind PCIe reaches it, for data-direct
  /// @throws Unsupported  this GPU, driver or kernel shares none so
  SharedPart (*share)(const Gpu&, std::uint64_t address, std::size_t bytes, bool pcie);
  void (*copy_in)(const Gpu&, std::uint64_t to, const void* from, std::size_t bytes);
  void (*copy_out)(const Gpu&, void* to, std::uint64_t from, std::size_t bytes);
  void (*free)(const Gpu&, std::uint64_t address) noexcept;
  const char* peer_memory;  ///< the module by which kernels register its addresses
};

/// The accelerator whose prefix `memory` has. @pre is_gpu(memory)
const Accelerator& accelerator_of(std::string_view memory);

/// The way of registering that is in use, and the one for where the kernel refuses that.
struct GpuWays {
  GpuRegistration first;
  std::optional<GpuRegistration> second;
};

class GpuMemory {
 public:
  /// @param context  of the device that is to reach it
  /// @param memory   as TestCase::memory: is_gpu()
  /// @throws Unsupported  there is no such GPU, no driver, or one that shares nothing as `how` asks
  /// @throws VerbsError   a call of the driver's failed: its name and what it says
  GpuMemory(ibv_context& context, const std::string& memory, std::size_t size_bytes,
            GpuRegistration how);
  GpuMemory(GpuMemory&&) = delete;

  /// The memory's address on the GPU; the CPU cannot use it.
  std::uint64_t address() const noexcept { return address_; }
  std::size_t size_bytes() const noexcept { return size_bytes_; }
  void write(std::size_t offset, std::span<const std::byte> bytes);
  void read(std::size_t offset, std::span<std::byte> bytes) const;

  /// Registers the memory in the first way that the kernel accepts, and later parts in
  /// the same way.
  /// @return null, with errno: it accepts no way
  ibv_mr* try_to_register(ibv_pd& pd, std::size_t offset, std::size_t length,
                          int access) const noexcept;
  const char* registering_verb() const noexcept;
  /// The way, as the option's word.
  std::string_view way() const noexcept;
  /// As Gpu has it.
  const std::string& bus_id() const noexcept { return gpu_.bus_id; }
  /// Why try_to_register() has failed, where that is known. @throws Unsupported
  void explain(int error, const std::string& where) const;

 private:
  struct Free {
    const Accelerator& kind;
    const Gpu& gpu;
    void operator()(void* address) const noexcept;
  };
  ibv_mr* register_this_way(ibv_pd& pd, std::size_t offset, std::size_t length,
                            int access) const noexcept;

  const Accelerator& kind_;
  Gpu gpu_;
  std::size_t size_bytes_ = 0;
  std::unique_ptr<void, Free> allocation_;  ///< an address of the GPU's
  std::uint64_t address_ = 0;
  SharedPart shared_;  ///< after the allocation: it goes first
  mutable GpuWays ways_;
};

}  // namespace rdmameter
