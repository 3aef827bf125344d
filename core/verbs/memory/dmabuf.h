// SPDX-License-Identifier: Apache-2.0
// Memory that the kernel shares between devices by a descriptor (a dma-buf), and that the CPU maps,
// too: of a DMA heap, or of this process by udmabuf.
#pragma once

#include <cstddef>
#include <string>

#include "core/verbs/memory/memory_file.h"
#include "core/wire/descriptor.h"

namespace rdmameter {

/// Mapped pages of a dma-buf, to be unmapped by the caller.
struct MappedDmabuf {
  Descriptor dmabuf;
  MappedFile pages;
};

/// @param name     of a heap in /dev/dma_heap, or kUdmabuf
/// @param allowed  none: nothing is opened, since a client has asked
/// @throws Unsupported  `allowed` is none; the kernel has no such heap, no udmabuf, not so much
/// @throws VerbsError   it may not be opened or mapped
MappedDmabuf make_dmabuf(const std::string& name, std::size_t size_bytes, FileMemory allowed);

}  // namespace rdmameter
