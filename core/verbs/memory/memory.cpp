// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/memory/memory.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "core/base/error.h"
#include "core/base/kernel_files.h"
#include "core/result/json_text.h"
#include "core/test_case/test_case.h"
#include "core/verbs/check.h"
#include "core/verbs/link_rate.h"

namespace rdmameter {
namespace {

constexpr unsigned kHugeShift = 21, kHuge1GShift = 30;  // 2 MiB, 1 GiB

/// 0: ordinary pages.
unsigned huge_shift_of(std::string_view kind) noexcept {
  return kind == kHugePages ? kHugeShift : kind == kHugePages1G ? kHuge1GShift : 0;
}

/// What providers align device memory and its copies to.
constexpr std::size_t kDeviceUnit = 64;
/// Copies to and from it are of such words (mlx5_access_dm() of rdma-core, providers/mlx5/verbs.c).
constexpr std::size_t kDeviceWord = 4;

/// Asks for pages on one node, by the system call itself: libnuma would be a dependency for one
/// line. A refusal (no NUMA, not allowed) leaves the kernel's own placement, which is only slower.
void prefer_node(std::byte* data, std::size_t size_bytes, int node) {
  constexpr int kPreferred = 1;  // MPOL_PREFERRED of <linux/mempolicy.h>
  constexpr int kBits = sizeof(unsigned long) * CHAR_BIT;
  if (node < 0 || node >= kBits) return;
  const unsigned long mask = 1UL << node;
  syscall(SYS_mbind, data, size_bytes, kPreferred, &mask, kBits, 0);
}

MappedPages map_huge(std::size_t bytes, unsigned shift) {
  const int flags =
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB | static_cast<int>(shift << MAP_HUGE_SHIFT);
  void* data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (data != MAP_FAILED) return {.data = data, .size_bytes = bytes};
  const int error = errno;
  if (error != ENOMEM && error != EINVAL)
    throw_failure("mmap", fmt::format("{} bytes of huge pages", bytes), error);
  const std::string directory =
      fmt::format("/sys/kernel/mm/hugepages/hugepages-{}kB", (1UL << shift) >> 10);
  const auto there = [&](const char* file) { return read_number(directory + file); };
  const auto unused = there("/free_hugepages");
  const std::string pages = shift == kHuge1GShift ? "1 GiB" : "2 MiB";
  if (!unused)
    throw Unsupported(
        "this machine has no huge pages of {}; --memory accepts host, huge (2 MiB), huge1g (1 GiB)",
        pages);
  // Of the free ones some may be promised to others. nr_hugepages is how many there are in all.
  const auto free = std::max<std::int64_t>(0, *unused - there("/resv_hugepages").value_or(0));
  const auto needed = static_cast<std::int64_t>(bytes >> shift);
  const std::int64_t all =
      there("/nr_hugepages").value_or(*unused) + std::max<std::int64_t>(0, needed - free);
  throw Unsupported(
      "huge pages of {}: {} needed, {} free; reserve them with `echo {} > {}/nr_hugepages` (more "
      "where several threads, devices or ends of this machine need as many)",
      pages, needed, free, all, directory);
}

}  // namespace

std::uint64_t page_bytes(std::string_view kind) noexcept {
  const unsigned shift = huge_shift_of(kind);
  return shift != 0 ? std::uint64_t{1} << shift : static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

void Buffer::Unmap::operator()(std::byte* data) const noexcept {
  munmap(data, size_bytes);
}

Buffer::Buffer(std::size_t size_bytes, std::optional<int> numa_node, const std::string& kind,
               const MemoryTerms& terms) {
  const std::size_t wanted = std::max<std::size_t>(size_bytes, 1);
  const std::size_t bytes = align_up(wanted, page_bytes(kind));
  const unsigned huge_shift = huge_shift_of(kind);
  MappedPages pages;
  if (kind.starts_with(kFileMemory))
    pages = map_file(kind.substr(kFileMemory.size()), wanted, terms.files);
  else if (kind.starts_with(kDmabufMemory))
    pages = make_dmabuf(kind.substr(kDmabufMemory.size()), wanted, terms.files);
  else if (huge_shift != 0)
    pages = map_huge(bytes, huge_shift);
  else
    pages =
        map_pages(bytes, MAP_PRIVATE | MAP_ANONYMOUS, -1, fmt::format("buffer of {} bytes", bytes));
  data_ = {static_cast<std::byte*>(pages.data), Unmap{pages.size_bytes}};
  dmabuf_ = std::move(pages.dmabuf);
  if (numa_node) prefer_node(data_.get(), pages.size_bytes, *numa_node);
  Looks looks{terms.cancel_check};
  in_parts(pages.size_bytes, looks, [&](std::size_t offset, std::size_t length) {
    std::memset(data_.get() + offset, 0, length);
  });
}

MessageMemory::MessageMemory(ibv_context& context, std::uint64_t max_device_bytes,
                             std::size_t size_bytes, std::optional<int> numa_node,
                             const std::string& kind, const std::string& where,
                             const MemoryTerms& terms, GpuRegistration gpu)
    : where_(where), size_bytes_(size_bytes) {
  if (is_gpu(kind)) {
    if (!terms.gpus)
      throw Unsupported(
          "{}: this server opens no GPU for its clients: start it with `rdmameter serve --gpu`",
          kind);
    gpu_ = std::make_unique<GpuMemory>(context, kind, std::max<std::size_t>(size_bytes, 1), gpu);
    size_bytes_ = gpu_->size_bytes();
    return;
  }
  if (kind != kDeviceMemory) {
    buffer_.emplace(size_bytes, numa_node, kind, terms);
    size_bytes_ = buffer_->size_bytes();
    return;
  }
  size_bytes_ = align_up(std::max<std::size_t>(size_bytes, 1), kDeviceUnit);
  if (max_device_bytes == 0)
    throw Unsupported("{} has no memory of its own: use --memory host", where);
  if (size_bytes_ > max_device_bytes)
    throw Unsupported(
        "device memory on {}: {} bytes needed, the device gives at most {}; use a "
        "smaller --size, --qps, --depth or --rx-depth",
        where, size_bytes_, max_device_bytes);
  ibv_alloc_dm_attr attributes{};
  attributes.length = size_bytes_;
  device_memory_.reset(check_pointer([&] { return ibv_alloc_dm(&context, &attributes); },
                                     "ibv_alloc_dm",
                                     fmt::format("{} bytes on {}", size_bytes_, where)));
}

std::uint64_t MessageMemory::address() const noexcept {
  if (gpu_) return gpu_->address();
  return buffer_ ? reinterpret_cast<std::uint64_t>(buffer_->data()) : 0;
}

int MessageMemory::dmabuf() const noexcept {
  return buffer_ ? buffer_->dmabuf() : -1;
}

const char* MessageMemory::registering_verb() const noexcept {
  if (gpu_) return gpu_->registering_verb();
  if (dmabuf() >= 0) return "ibv_reg_dmabuf_mr";
  return buffer_ ? "ibv_reg_mr" : "ibv_reg_dm_mr";
}

ibv_mr* MessageMemory::try_to_register(ibv_pd& pd, std::size_t offset, std::size_t length,
                                       int access) const noexcept {
  if (gpu_) return gpu_->try_to_register(pd, offset, length, access);
  if (const int fd = dmabuf(); fd >= 0)
    return ibv_reg_dmabuf_mr(&pd, offset, length, address() + offset, fd, access);
  if (buffer_) return ibv_reg_mr(&pd, buffer_->data() + offset, length, access);
  // Optional rights are refused here, not ignored (Linux, hw/mlx5/mr.c, mlx5_ib_reg_dm_mr()).
  const auto needed = static_cast<unsigned>(access) & ~unsigned{IBV_ACCESS_OPTIONAL_RANGE};
  return ibv_reg_dm_mr(&pd, device_memory_.get(), 0, size_bytes_, needed | IBV_ACCESS_ZERO_BASED);
}

Mr MessageMemory::register_part(ibv_pd& pd, std::size_t offset, std::size_t length,
                                int access) const {
  constexpr int kOpen = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  errno = 0;
  ibv_mr* const made = try_to_register(pd, offset, length, access);
  if (made == nullptr && gpu_) gpu_->explain(errno, where_);
  const bool lacking = made == nullptr && is_unsupported(errno);
  if (lacking && dmabuf() >= 0)
    throw Unsupported(
        "{} (ibv_reg_dmabuf_mr): use --memory host, huge or huge1g",
        errno == kEnotsupp
            ? fmt::format("the driver that owns the dma-buf does not let {} reach it", where_)
            : fmt::format("{} registers no dma-buf", where_));
  if (lacking && (access & kOpen) != 0)
    throw Unsupported("{} opens no memory to peers in this way: use a test of sends", where_);
  if (made == nullptr)
    throw_failure(registering_verb(), fmt::format("{} bytes on {}", length, where_), errno);
  return Mr{made};
}

void MessageMemory::edit(std::size_t offset, std::size_t length,
                         const std::function<void(std::span<std::byte>)>& edit) {
  if (buffer_) return edit({buffer_->data() + offset, length});
  std::vector<std::byte> copy(gpu_ ? length : align_up(length, kDeviceWord));
  edit(std::span(copy).first(length));
  if (length == 0) return;  // as of an end that is never written to
  if (gpu_) return gpu_->write(offset, copy);
  check_errno_value(ibv_memcpy_to_dm(device_memory_.get(), offset, copy.data(), copy.size()),
                    "ibv_memcpy_to_dm", where_);
}

void MessageMemory::inspect(std::size_t offset, std::size_t length,
                            const std::function<void(std::span<const std::byte>)>& look) const {
  if (buffer_) return look({buffer_->data() + offset, length});
  std::vector<std::byte> copy(gpu_ ? length : align_up(length, kDeviceWord));
  if (length != 0 && gpu_)
    gpu_->read(offset, copy);
  else if (length != 0)
    check_errno_value(ibv_memcpy_from_dm(copy.data(), device_memory_.get(), offset, copy.size()),
                      "ibv_memcpy_from_dm", where_);
  look(std::span(copy).first(length));
}

Json gpu_facts_of(const MessageMemory& memory, const std::string& device) {
  const GpuMemory* const gpu = memory.gpu();
  if (gpu == nullptr) return Json::object();
  return {{"gpu_registration", gpu->way()}, {"gpu_pcie_path", pcie_path(gpu->bus_id(), device)}};
}

namespace {

std::mutex one_qp_maker;

/// It stays in the environment and only its value changes: setenv() may move the environment while
/// another thread reads it (attributes(7), "MT-Safe env").
char scatter_variable[] = "MLX5_SCATTER_TO_CQE=1";
char& scatter_value = scatter_variable[sizeof scatter_variable - 2];

/// @return false: the user has turned it off, and so it stays
bool take_scatter_variable() {
  const char* const set = std::getenv("MLX5_SCATTER_TO_CQE");
  if (set != nullptr && std::strcmp(set, "0") == 0) return false;
  return putenv(scatter_variable) == 0;
}

const bool kScatterIsOurs =
    take_scatter_variable();  // before main(): no other thread reads the environment yet

}  // namespace

ScatterToCqe::ScatterToCqe(bool allowed) : alone_(one_qp_maker) {
  if (kScatterIsOurs && !allowed) scatter_value = '0';
}

ScatterToCqe::~ScatterToCqe() {
  scatter_value = '1';
}

}  // namespace rdmameter
