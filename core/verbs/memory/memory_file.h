// SPDX-License-Identifier: Apache-2.0
// Which files may hold messages, and how they are mapped. Messages overwrite what they are mapped
// over, so a file is mapped only where its user means that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/wire/wait.h"

namespace rdmameter {

/// The files that may be mapped for a case whose memory is a file.
enum class FileMemory : std::uint8_t {
  none,       ///< nothing: the case is a client's, and no file of this machine is its to name
  devices,    ///< devices: character devices (DAX), a PCI device's BAR or peer memory in sysfs
  overwrite,  ///< those, and files on DAX file systems or hugetlbfs, whose contents are lost
};

/// Mapped pages, to be unmapped by the caller.
struct MappedPages {
  void* data = nullptr;
  std::size_t size_bytes = 0;  ///< whole pages, of a file those of its own size
  Descriptor dmabuf;           ///< that they are of; none: of none
};

/// The least multiple of `unit` that holds `size`.
constexpr std::size_t align_up(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

/// Maps pages for reading and writing. @param flags, file  as mmap() takes them
/// @param object  for the error's text
/// @throws VerbsError
MappedPages map_pages(std::size_t size_bytes, int flags, int file, const std::string& object);

/// Maps the beginning of a file, shared. Creates nothing, and changes no file's length.
/// @throws Unsupported  `allowed` is none; the file is shorter than that
/// @throws UsageError   `allowed` does not include such a file: what it is, and what to use instead
/// @throws VerbsError   it cannot be opened or mapped
MappedPages map_file(const std::string& path, std::size_t size_bytes, FileMemory allowed);

// Memory that the kernel shares between devices by a descriptor (a dma-buf), and that the CPU maps,
// too: of a DMA heap, or of this process by udmabuf.

/// @param name     of a heap in /dev/dma_heap, or kUdmabuf
/// @param allowed  none: nothing is opened, since a client has asked
/// @throws Unsupported  `allowed` is none; the kernel has no such heap, no udmabuf, not so much
/// @throws VerbsError   it may not be opened or mapped
MappedPages make_dmabuf(const std::string& name, std::size_t size_bytes, FileMemory allowed);

}  // namespace rdmameter
