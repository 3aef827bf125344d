// SPDX-License-Identifier: Apache-2.0
// The kernel's dma-bufs, played by files in memory: the DMA heap "software", and /dev/udmabuf,
// which hands out the file that it is given. Every other path and request is the machine's.
#include <fcntl.h>
#include <linux/dma-heap.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "tests/software_device/system/next_function.h"

using rdmameter::software::next_of;

namespace {

constexpr std::string_view kHeap = "/dev/dma_heap/software", kUdmabufDevice = "/dev/udmabuf";

/// A descriptor of something, in place of the device.
int open_device() {
  return memfd_create("software-dma", MFD_CLOEXEC);
}

int allocate(dma_heap_allocation_data& wanted) {
  const int fd = memfd_create("software-dmabuf", MFD_CLOEXEC);
  if (fd < 0) return -1;
  if (ftruncate(fd, static_cast<off_t>(wanted.len)) != 0) return close(fd), errno = ENOMEM, -1;
  wanted.fd = static_cast<std::uint32_t>(fd);
  return 0;
}

/// As the kernel: whole pages of a file that cannot shrink.
int share(const udmabuf_create& wanted) {
  constexpr std::uint64_t kPage = 4096;
  const int file = static_cast<int>(wanted.memfd);
  const int seals = fcntl(file, F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0 || (seals & F_SEAL_WRITE) != 0 ||
      wanted.offset % kPage != 0 || wanted.size % kPage != 0)
    return errno = EINVAL, -1;
  return fcntl(file, F_DUPFD_CLOEXEC, 0);
}

using Open = int(const char*, int, ...);

int open_path(Open* real, const char* path, int flags, va_list rest) {
  if (path == kHeap || path == kUdmabufDevice) return open_device();
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  return makes ? real(path, flags, va_arg(rest, mode_t)) : real(path, flags);
}

}  // namespace

extern "C" {

// By their symbols: with large files <fcntl.h> declares open() as open64().
int software_open(const char* path, int flags, ...) __asm__("open");
int software_open64(const char* path, int flags, ...) __asm__("open64");

int software_open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  static auto* const real = next_of<Open>("open");
  const int fd = open_path(real, path, flags, rest);
  va_end(rest);
  return fd;
}
int software_open64(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  static auto* const real = next_of<Open>("open64");
  const int fd = open_path(real, path, flags, rest);
  va_end(rest);
  return fd;
}
int ioctl(int fd, unsigned long request, ...) noexcept {
  va_list rest;
  va_start(rest, request);
  void* const argument = va_arg(rest, void*);
  va_end(rest);
  if (request == DMA_HEAP_IOCTL_ALLOC)
    return allocate(*static_cast<dma_heap_allocation_data*>(argument));
  if (request == UDMABUF_CREATE) return share(*static_cast<udmabuf_create*>(argument));
  static auto* const real = next_of<int(int, unsigned long, ...)>("ioctl");
  return real(fd, request, argument);
}

}  // extern "C"
