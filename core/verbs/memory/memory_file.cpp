// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/memory/memory_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/dma-heap.h>
#include <linux/magic.h>
#include <linux/udmabuf.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "core/base/error.h"
#include "core/base/kernel_files.h"
#include "core/test_case/test_case.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

/// What a mapping must know of a file, found out from the open file: a path may lead elsewhere the
/// next time.
struct Facts {
  enum class Kind : std::uint8_t { device, overwritable, other } kind = Kind::other;
  std::string what;                         ///< of Kind::other, for the text
  std::size_t page_bytes = 0;               ///< mappings are whole pages of this size
  std::optional<std::uint64_t> size_bytes;  ///< nullopt: mmap() alone knows
};

/// A PCI device's memory as sysfs shows it: resource0, resource0_wc, p2pmem/allocate (Linux's
/// Documentation/PCI/sysfs-pci.rst, drivers/pci/p2pdma.c).
bool is_pci_memory(const std::filesystem::path& path) {
  constexpr std::string_view kBar = "resource";
  const std::string name = path.filename();
  if (name == "allocate") return path.parent_path().filename() == "p2pmem";
  if (!name.starts_with(kBar) || name.size() == kBar.size()) return false;
  const std::string_view rest = std::string_view(name).substr(kBar.size() + 1);
  return name[kBar.size()] >= '0' && name[kBar.size()] <= '9' && (rest.empty() || rest == "_wc");
}

/// A DAX device says how long it is, and what its mappings are aligned to; others say neither.
Facts of_character_device(dev_t number, std::size_t page_bytes) {
  const std::string directory = fmt::format("/sys/dev/char/{}:{}/", major(number), minor(number));
  const auto align = read_count(directory + "align");
  if (!align || *align == 0) return {.kind = Facts::Kind::device, .page_bytes = page_bytes};
  return {.kind = Facts::Kind::device,
          .page_bytes = *align,
          .size_bytes = read_count(directory + "size")};
}

Facts of_regular_file(int fd, const std::string& path, std::size_t page_bytes) {
  struct statfs system {};
  struct statx more {};
  check_minus_one(fstatfs(fd, &system), "fstatfs", path);
  check_minus_one(statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &more), "statx", path);
  Facts facts{.kind = Facts::Kind::other,
              .what = "a regular file",
              .page_bytes = page_bytes,
              .size_bytes = more.stx_size};
  if (system.f_type == HUGETLBFS_MAGIC) {
    facts.kind = Facts::Kind::overwritable;
    facts.page_bytes = static_cast<std::size_t>(system.f_bsize);
  } else if ((more.stx_attributes & STATX_ATTR_DAX) != 0) {
    facts.kind = Facts::Kind::overwritable;
  } else if (system.f_type == SYSFS_MAGIC) {
    std::error_code failed;  // then it is no path of sysfs
    const auto where = std::filesystem::read_symlink(fmt::format("/proc/self/fd/{}", fd), failed);
    if (is_pci_memory(where)) facts.kind = Facts::Kind::device;
  }
  return facts;
}

Facts facts_of(int fd, const std::string& path) {
  struct stat seen {};
  check_minus_one(fstat(fd, &seen), "fstat", path);
  const auto page_bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  if (S_ISCHR(seen.st_mode)) return of_character_device(seen.st_rdev, page_bytes);
  if (S_ISREG(seen.st_mode)) return of_regular_file(fd, path, page_bytes);
  return {.what = S_ISBLK(seen.st_mode) ? "a block device" : "neither a file nor a device"};
}

void require_allowed(const Facts& facts, const std::string& path, FileMemory allowed) {
  switch (facts.kind) {
    case Facts::Kind::device:
      return;
    case Facts::Kind::overwritable:
      if (allowed == FileMemory::overwrite) return;
      throw UsageError(
          "--memory file:{}: messages would overwrite the file's contents; `rdmameter run "
          "--overwrite-file` allows that",
          path);
    case Facts::Kind::other:
      break;
  }
  throw UsageError(
      "--memory file:{0}: this is {1}, and its contents would be lost; it takes a "
      "device (DAX, resourceN of a PCI device in sysfs) and, with --overwrite-file, a "
      "file on DAX or hugetlbfs. To send the content of a file use --payload file:{0}",
      path, facts.what);
}

}  // namespace

MappedPages map_pages(std::size_t size_bytes, int flags, int file, const std::string& object) {
  void* const data = mmap(nullptr, size_bytes, PROT_READ | PROT_WRITE, flags, file, 0);
  if (data == MAP_FAILED) throw_failure("mmap", object, errno);
  return {.data = data, .size_bytes = size_bytes};
}

MappedPages map_file(const std::string& path, std::size_t size_bytes, FileMemory allowed) {
  if (allowed == FileMemory::none)
    throw Unsupported(
        "only the initiator may use a file as memory: a client must not name a file of the "
        "server's machine; --peer-memory takes host, huge, huge1g or device");
  const Descriptor file{open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
  if (!file) throw_failure("open", "--memory file:" + path, errno);
  const Facts facts = facts_of(file.get(), path);
  require_allowed(facts, path, allowed);
  const std::size_t mapped = align_up(size_bytes, facts.page_bytes);
  if (facts.size_bytes && *facts.size_bytes < mapped)
    throw Unsupported(
        "--memory file:{}: it is {} bytes long, and {} bytes are needed; use a longer one, or a "
        "smaller --size, --qps, --depth or --rx-depth",
        path, *facts.size_bytes, mapped);
  return map_pages(mapped, MAP_SHARED, file.get(),
                   fmt::format("{} bytes of --memory file:{}", mapped, path));
}

namespace {

Descriptor open_node(const std::string& path, const std::string& option) {
  Descriptor device{open(path.c_str(), O_RDWR | O_CLOEXEC)};
  if (!device && (errno == ENOENT || errno == ENODEV || errno == ENXIO))
    throw Unsupported(
        "{}: this machine has no {}; a kernel with CONFIG_DMABUF_HEAPS has heaps in "
        "/dev/dma_heap, and one with CONFIG_UDMABUF has /dev/udmabuf",
        option, path);
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
        "{}: the kernel makes no dma-buf of {} bytes; its limit is size_limit_mb in "
        "/sys/module/udmabuf/parameters: raise it, or use a smaller --size, --qps, "
        "--depth or --rx-depth",
        option, size_bytes);
  if (!made)
    throw_failure("ioctl(UDMABUF_CREATE)", fmt::format("{} bytes of {}", size_bytes, option),
                  errno);
  return made;
}

}  // namespace

MappedPages make_dmabuf(const std::string& name, std::size_t size_bytes, FileMemory allowed) {
  if (allowed == FileMemory::none)
    throw Unsupported(
        "only the initiator may use a dma-buf as memory: a client must not have a device of the "
        "server's machine opened; --peer-memory takes host, huge, huge1g or device");
  const std::string option = fmt::format("--memory {}{}", kDmabufMemory, name);
  const std::size_t bytes = align_up(size_bytes, static_cast<std::size_t>(sysconf(_SC_PAGESIZE)));
  Descriptor dmabuf = name == kUdmabuf ? of_own_pages(bytes, option) : of_heap(name, bytes, option);
  MappedPages pages =
      map_pages(bytes, MAP_SHARED, dmabuf.get(), fmt::format("{} bytes of {}", bytes, option));
  pages.dmabuf = std::move(dmabuf);
  return pages;
}

}  // namespace rdmameter
