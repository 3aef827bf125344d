// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/memory/gpu_memory.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "core/base/error.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

using Way = GpuRegistration;
constexpr std::array kShareFirst{Way::dmabuf, Way::pointer};
constexpr std::array kPointerFirst{Way::pointer, Way::dmabuf};
constexpr std::array kDirect{Way::data_direct};

std::span<const Way> ways_of(Way how) {
  switch (how) {
    case Way::automatic:
      return kShareFirst;
    case Way::dmabuf:
      return std::span(kShareFirst).first(1);
    case Way::pointer:
      return std::span(kPointerFirst).first(1);
    case Way::data_direct:
      return kDirect;
    case Way::pointer_first:
      return kPointerFirst;
  }
  return {};
}

/// Of mlx5's own library, which only adapters of NVIDIA's bring; null: it has none.
template <class Function>
Function mlx5_function(const char* name) {
  static void* const library = dlopen("libmlx5.so.1", RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function>(library == nullptr ? nullptr : dlsym(library, name));
}

bool has_data_direct(ibv_context& context) {
  const auto path_of =
      mlx5_function<int (*)(ibv_context*, char*, std::size_t)>("mlx5dv_get_data_direct_sysfs_path");
  std::array<char, 512> path{};
  return path_of != nullptr && path_of(&context, path.data(), path.size()) == 0;
}

/// The kernel reaches no such memory in this way, and may in another.
bool is_refused(int error) {
  return is_unsupported(error) || error == EFAULT;
}

}  // namespace

GpuMemory::GpuMemory(ibv_context& context, const std::string& memory, std::size_t size_bytes,
                     GpuRegistration how)
    : kind_(accelerator_of(memory)),
      gpu_{.memory = memory, .which = memory.substr(kind_.memory.size())},
      ways_(ways_of(how)) {
  if (how == Way::data_direct) {
    register_direct_ = mlx5_function<decltype(register_direct_)>("mlx5dv_reg_dmabuf_mr");
    if (register_direct_ == nullptr || !has_data_direct(context))
      throw Unsupported(
          "--gpu-registration data-direct: the device has no data-direct engine, or this machine's "
          "libmlx5.so.1 does not know of any: use --gpu-registration auto");
  }
  kind_.open(gpu_);
  try {
    allocate(size_bytes);
    share();
  } catch (...) {
    release();
    throw;
  }
}

GpuMemory::~GpuMemory() {
  release();
}

/// A dma-buf is of whole pages of the CPU's, an allocation need not begin with one.
void GpuMemory::allocate(std::size_t size_bytes) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  size_bytes_ = (size_bytes + page - 1) / page * page;
  allocation_ = kind_.allocate(gpu_, size_bytes_ + page);
  address_ = (allocation_ + page - 1) / page * page;
}

void GpuMemory::share() {
  if (ways_.size() == 1 && ways_.front() == Way::pointer) return;
  try {
    shared_ = kind_.share(gpu_, address_, size_bytes_, ways_.front() == Way::data_direct);
  } catch (const Unsupported&) {
    if (ways_.size() == 1) throw;
    ways_ = ways_of(Way::pointer);
  }
}

void GpuMemory::release() noexcept {
  shared_.dmabuf.reset();
  if (allocation_ != 0) kind_.free(gpu_, allocation_);
}

void GpuMemory::write(std::size_t offset, std::span<const std::byte> bytes) {
  kind_.use(gpu_);
  kind_.copy_in(gpu_, address_ + offset, bytes.data(), bytes.size());
}

void GpuMemory::read(std::size_t offset, std::span<std::byte> bytes) const {
  kind_.use(gpu_);
  kind_.copy_out(gpu_, bytes.data(), address_ + offset, bytes.size());
}

ibv_mr* GpuMemory::register_this_way(ibv_pd& pd, std::size_t offset, std::size_t length,
                                     int access) const noexcept {
  constexpr int kDataDirect = 1 << 0;  // MLX5DV_REG_DMABUF_ACCESS_DATA_DIRECT
  const std::uint64_t address = address_ + offset, at = shared_.offset + offset;
  if (ways_.front() == Way::pointer)
    return ibv_reg_mr(&pd, reinterpret_cast<void*>(address), length, access);
  if (ways_.front() == Way::data_direct)
    return register_direct_(&pd, at, length, address, shared_.dmabuf.get(), access, kDataDirect);
  return ibv_reg_dmabuf_mr(&pd, at, length, address, shared_.dmabuf.get(), access);
}

ibv_mr* GpuMemory::try_to_register(ibv_pd& pd, std::size_t offset, std::size_t length,
                                   int access) const noexcept {
  ibv_mr* made = register_this_way(pd, offset, length, access);
  if (made != nullptr || ways_.size() == 1 || !is_refused(errno)) return made;
  const int why = errno;
  const std::span<const Way> tried = ways_;
  ways_ = ways_.subspan(1);
  made = register_this_way(pd, offset, length, access);
  if (made != nullptr || !is_refused(errno)) return made;
  ways_ = tried;  // another region may go
  errno = why;
  return nullptr;
}

const char* GpuMemory::registering_verb() const noexcept {
  return ways_.front() == Way::pointer       ? "ibv_reg_mr"
         : ways_.front() == Way::data_direct ? "mlx5dv_reg_dmabuf_mr"
                                             : "ibv_reg_dmabuf_mr";
}

const char* GpuMemory::way() const noexcept {
  return ways_.front() == Way::pointer       ? "pointer"
         : ways_.front() == Way::data_direct ? "data-direct"
                                             : "dmabuf";
}

void GpuMemory::explain(int error, const std::string& where) const {
  if (!is_refused(error)) return;
  const std::string by_address = fmt::format(
      "by its address the kernel registers no memory of {} for {}: that takes the module {}",
      gpu_.memory, where, kind_.peer_memory);
  if (ways_.size() == 1 && ways_.front() == Way::pointer)
    throw Unsupported(by_address + "; or use --gpu-registration dmabuf");
  const std::string as_dmabuf = fmt::format(
      "{} ({})",
      error == kEnotsupp
          ? fmt::format("the driver that owns the dma-buf does not let {} reach it", where)
          : fmt::format("{} registers no dma-buf", where),
      register_direct_ != nullptr ? "mlx5dv_reg_dmabuf_mr" : "ibv_reg_dmabuf_mr");
  if (ways_.size() == 1)
    throw Unsupported(as_dmabuf + ": use --gpu-registration auto, or --memory host");
  throw Unsupported(fmt::format("{}, and {}; or use --memory host", as_dmabuf, by_address));
}

}  // namespace rdmameter
