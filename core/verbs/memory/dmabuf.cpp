// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/memory/dmabuf.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

#include "core/base/error.h"
#include "core/test_case/test_case.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

Descriptor open_node(const std::string& path, const std::string& option) {
  Descriptor device{open(path.c_str(), O_RDWR | O_CLOEXEC)};
  if (!device && (errno == ENOENT || errno == ENODEV || errno == ENXIO))
    throw Unsupported(
        fmt::format("{}: this machine has no {}; a kernel with CONFIG_DMABUF_HEAPS has heaps in "
                    "/dev/dma_heap, and one with CONFIG_UDMABUF has /dev/udmabuf",
                    option, path));
  if (!device) throw_failure("open", fmt::format("{} of {}", path, option), errno);
  return device;
}

Descriptor of_heap(const std::string& name, std::size_t size_bytes, const std::string& option) {
  const Descriptor heap = open_node("/dev/dma_heap/" + name, option);
  dma_heap_allocation_data wanted{};
  wanted.len = size_bytes;
  wanted.fd_flags = O_RDWR | O_CLOEXEC;
  if (ioctl(heap.get(), DMA_HEAP_IOCTL_ALLOC, &wanted) != 0)
    throw_failure("ioctl(DMA_HEAP_IOCTL_ALLOC)", fmt::format("{} bytes of {}", size_bytes, option),
                  errno);
  return Descriptor{static_cast<int>(wanted.fd)};
}

/// Of a file in memory that can no longer shrink.
Descriptor of_own_pages(std::size_t size_bytes, const std::string& option) {
  const Descriptor device = open_node("/dev/udmabuf", option);
  const Descriptor file{memfd_create("rdmameter", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  if (!file) throw_failure("memfd_create", option, errno);
  check_minus_one(ftruncate(file.get(), static_cast<off_t>(size_bytes)), "ftruncate", option);
  check_minus_one(fcntl(file.get(), F_ADD_SEALS, F_SEAL_SHRINK), "fcntl(F_ADD_SEALS)", option);
  udmabuf_create wanted{};
  wanted.memfd = static_cast<std::uint32_t>(file.get());
  wanted.flags = UDMABUF_FLAGS_CLOEXEC;
  wanted.size = size_bytes;
  Descriptor made{ioctl(device.get(), UDMABUF_CREATE, &wanted)};
  if (!made && errno == EINVAL)
    throw Unsupported(
        fmt::format("{}: the kernel makes no dma-buf of {} bytes; its limit is size_limit_mb in "
                    "/sys/module/udmabuf/parameters: raise it, or use a smaller --size, --qps, "
                    "--depth or --rx-depth",
                    option, size_bytes));
  if (!made)
    throw_failure("ioctl(UDMABUF_CREATE)", fmt::format("{} bytes of {}", size_bytes, option),
                  errno);
  return made;
}

}  // namespace

MappedDmabuf make_dmabuf(const std::string& name, std::size_t size_bytes, FileMemory allowed) {
  if (allowed == FileMemory::none)
    throw Unsupported(
        "only the initiator may use a dma-buf as memory: a client must not have a device of the "
        "server's machine opened; --peer-memory takes host, huge, huge1g or device");
  const std::string option = fmt::format("--memory {}{}", kDmabufMemory, name);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t bytes = (size_bytes + page - 1) / page * page;
  Descriptor dmabuf = name == kUdmabuf ? of_own_pages(bytes, option) : of_heap(name, bytes, option);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, dmabuf.get(), 0);
  if (data == MAP_FAILED)
    throw_failure("mmap", fmt::format("{} bytes of {}", bytes, option), errno);
  return {.dmabuf = std::move(dmabuf), .pages = {.data = data, .size_bytes = bytes}};
}

}  // namespace rdmameter
