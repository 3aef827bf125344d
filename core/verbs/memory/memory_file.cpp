// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/memory/memory_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>

#include "core/base/error.h"
#include "core/base/sysfs.h"
#include "core/verbs/check.h"
#include "core/wire/descriptor.h"

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
      throw UsageError(fmt::format(
          "--memory file:{}: messages would overwrite the file's contents; `rdmameter run "
          "--overwrite-file` allows that",
          path));
    case Facts::Kind::other:
      break;
  }
  throw UsageError(
      fmt::format("--memory file:{0}: this is {1}, and its contents would be lost; it takes a "
                  "device (DAX, resourceN of a PCI device in sysfs) and, with --overwrite-file, a "
                  "file on DAX or hugetlbfs. To send the content of a file use --payload file:{0}",
                  path, facts.what));
}

}  // namespace

MappedFile map_file(const std::string& path, std::size_t size_bytes, FileMemory allowed) {
  if (allowed == FileMemory::none)
    throw Unsupported(
        "only the initiator may use a file as memory: a client must not name a file of the "
        "server's machine; --peer-memory takes host, huge, huge1g or device");
  const Descriptor file{open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)};
  if (!file) throw_failure("open", "--memory file:" + path, errno);
  const Facts facts = facts_of(file.get(), path);
  require_allowed(facts, path, allowed);
  const std::size_t mapped =
      (size_bytes + facts.page_bytes - 1) / facts.page_bytes * facts.page_bytes;
  if (facts.size_bytes && *facts.size_bytes < mapped)
    throw Unsupported(fmt::format(
        "--memory file:{}: it is {} bytes long, and {} bytes are needed; use a longer one, or a "
        "smaller --size, --qps, --depth or --rx-depth",
        path, *facts.size_bytes, mapped));
  void* data = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
  if (data == MAP_FAILED)
    throw_failure("mmap", fmt::format("{} bytes of --memory file:{}", mapped, path), errno);
  return {data, mapped};
}

}  // namespace rdmameter
