// SPDX-License-Identifier: Apache-2.0
// The kinds of GPUs, and what of their drivers' libraries is used. A library is loaded when a case
// asks for it, and needed for nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/wire/descriptor.h"

namespace rdmameter {

/// A GPU of one kind, as its library knows it.
struct Gpu {
  std::string memory;       ///< "cuda:0", for texts
  std::string which;        ///< its number or bus ID
  int number = 0;           ///< of the library
  void* context = nullptr;  ///< CUDA's
};

/// A dma-buf, and where in it the shared memory begins.
struct SharedPart {
  Descriptor dmabuf;
  std::uint64_t offset = 0;
};

/// All but free() throw VerbsError for a call that failed: its name and what it says.
struct Accelerator {
  std::string_view memory;  ///< what begins a `memory` of this kind
  /// Loads the library, finds the GPU and makes it this thread's.
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
  std::string (*bus_id)(const Gpu&);  ///< "0000:17:00.0", as sysfs writes it; empty: not known
  const char* peer_memory;            ///< the module by which kernels register its addresses
};

/// The accelerator whose prefix `memory` has. @pre is_gpu(memory)
const Accelerator& accelerator_of(std::string_view memory);

}  // namespace rdmameter
