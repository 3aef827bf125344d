// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/memory/gpu_memory.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <initializer_list>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/verbs/check.h"
#include "core/verbs/memory/memory_file.h"

namespace rdmameter {
namespace {

/// A function of a library as the type of pointer that it is assigned to; null: there is none.
struct Found {
  void* address;
  template <class Function>
  operator Function*() const {
    return reinterpret_cast<Function*>(address);
  }
};

/// The first of several that this machine has, never unloaded: a driver has threads of its own.
struct Library {
  Library(std::initializer_list<const char*> names) {
    for (const char* name : names)
      if (handle == nullptr) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  Found find(const char* name) {
    const Found found{handle == nullptr ? nullptr : dlsym(handle, name)};
    whole = whole && found.address != nullptr;
    return found;
  }

  void* handle = nullptr;
  bool whole = true;  ///< has it all functions that were looked for so far?
};

[[noreturn]] void throw_no_library(const Gpu& gpu, const char* library, const char* whose) {
  throw Unsupported("{}: this machine has no usable {}, which the driver of {} brings", gpu.memory,
                    library, whose);
}

/// @param list  what lists the GPUs
void check(const Gpu& gpu, int result, const char* call, const char* name, const char* list) {
  constexpr int kNoDevice = 100, kInvalidDevice = 101;  // of CUDA and of HIP
  if (result == 0) return;
  const std::string text = fmt::format("{} of {}: {} ({})", call, gpu.memory,
                                       name == nullptr ? "unknown error" : name, result);
  if (result == kNoDevice || result == kInvalidDevice)
    throw Unsupported("{}: this machine has no such GPU; see `{}`", text, list);
  throw VerbsError(EIO, text);
}

int number_of(const Gpu& gpu) {
  if (const auto number = parse_count(gpu.which)) return static_cast<int>(*number);
  throw Unsupported(
      "{}: %l is the number of a rank on its machine, and this test has no ranks: use {}N",
      gpu.memory, accelerator_of(gpu.memory).memory);
}

/// @param get  both libraries have it alike
std::string bus_id_of(int (*get)(char*, int length, int device), const Gpu& gpu) {
  std::array<char, 32> text{};
  if (get(text.data(), text.size(), gpu.number) != 0) return {};
  std::string id = text.data();
  for (char& c : id) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return id;
}

namespace cuda {

// What of CUDA's driver API is used (docs.nvidia.com/cuda/cuda-driver-api), under its names.
constexpr int kNotSupported = 801;
constexpr int kDmabufSupported = 124;           // CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
constexpr int kDmabufFd = 1;                    // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD
constexpr unsigned long long kPcieMapping = 1;  // CU_MEM_RANGE_FLAG_DMA_BUF_MAPPING_TYPE_PCIE
constexpr int kSyncMemops = 6;                  // CU_POINTER_ATTRIBUTE_SYNC_MEMOPS

struct Driver {
  Library library{"libcuda.so.1"};
  int (*init)(unsigned flags) = library.find("cuInit");
  int (*error_name)(int, const char** text) = library.find("cuGetErrorName");
  int (*device)(int*, int number) = library.find("cuDeviceGet");
  int (*device_at)(int*, const char* bus_id) = library.find("cuDeviceGetByPCIBusId");
  int (*bus_id)(char*, int length, int device) = library.find("cuDeviceGetPCIBusId");
  int (*attribute)(int* value, int attribute, int device) = library.find("cuDeviceGetAttribute");
  int (*retain)(void** context, int device) = library.find("cuDevicePrimaryCtxRetain");
  int (*set_current)(void* context) = library.find("cuCtxSetCurrent");
  int (*allocate)(std::uint64_t*, std::size_t bytes) = library.find("cuMemAlloc_v2");
  int (*free)(std::uint64_t) = library.find("cuMemFree_v2");
  int (*copy_in)(std::uint64_t to, const void* from, std::size_t) = library.find("cuMemcpyHtoD_v2");
  int (*copy_out)(void* to, std::uint64_t from, std::size_t) = library.find("cuMemcpyDtoH_v2");
  int (*synchronize)() = library.find("cuCtxSynchronize");
  int (*set_pointer)(const void* value, int, std::uint64_t) = library.find("cuPointerSetAttribute");
  bool whole = library.whole;  ///< without the next, which old drivers lack
  int (*handle)(void* handle, std::uint64_t, std::size_t bytes, int type,
                unsigned long long flags) = library.find("cuMemGetHandleForAddressRange");
};

const Driver& driver() {
  static const Driver loaded{};
  return loaded;
}

void must(const Gpu& gpu, int result, const char* call) {
  const char* name = nullptr;
  driver().error_name(result, &name);
  check(gpu, result, call, name, "nvidia-smi -L");
}

void use(const Gpu& gpu) {
  must(gpu, driver().set_current(gpu.context), "cuCtxSetCurrent");
}

void open(Gpu& gpu) {
  const Driver& cuda = driver();
  if (!cuda.whole) throw_no_library(gpu, "libcuda.so.1", "NVIDIA's GPUs");
  must(gpu, cuda.init(0), "cuInit");
  if (gpu.which.find(':') == gpu.which.npos)
    must(gpu, cuda.device(&gpu.number, number_of(gpu)), "cuDeviceGet");
  else
    must(gpu, cuda.device_at(&gpu.number, gpu.which.c_str()), "cuDeviceGetByPCIBusId");
  // Not released: a context of its own for each case would take 0.2 s (of an H200).
  must(gpu, cuda.retain(&gpu.context, gpu.number), "cuDevicePrimaryCtxRetain");
  use(gpu);
  gpu.bus_id = bus_id_of(cuda.bus_id, gpu);
}

std::uint64_t allocate(const Gpu& gpu, std::size_t bytes) {
  std::uint64_t address = 0;
  must(gpu, driver().allocate(&address, bytes), "cuMemAlloc");
  // Copies end before they return, also where they could go on: peers write at any time
  // (docs.nvidia.com/cuda/gpudirect-rdma, "Synchronization and Memory Ordering").
  const unsigned on = 1;
  if (const int result = driver().set_pointer(&on, kSyncMemops, address); result != 0) {
    driver().free(address);
    must(gpu, result, "cuPointerSetAttribute");
  }
  return address;
}

SharedPart share(const Gpu& gpu, std::uint64_t address, std::size_t bytes, bool pcie) {
  const Driver& cuda = driver();
  int can = 0;
  if (cuda.handle != nullptr)
    must(gpu, cuda.attribute(&can, kDmabufSupported, gpu.number), "cuDeviceGetAttribute");
  if (can == 0)
    throw Unsupported(
        "{}: that GPU shares no memory as a dma-buf: it takes NVIDIA's open kernel modules, the "
        "driver of CUDA 11.7 and a Linux of 5.12, or newer",
        gpu.memory);
  int fd = -1;
  const int result = cuda.handle(&fd, address, bytes, kDmabufFd, pcie ? kPcieMapping : 0);
  if (pcie && result == kNotSupported)
    throw Unsupported(
        "{}: the driver maps no dma-buf of that GPU through PCIe, which data-direct takes: "
        "use --gpu-registration auto",
        gpu.memory);
  must(gpu, result, "cuMemGetHandleForAddressRange");
  return {.dmabuf = Descriptor{fd}};
}

void copy_in(const Gpu& gpu, std::uint64_t to, const void* from, std::size_t bytes) {
  must(gpu, driver().copy_in(to, from, bytes), "cuMemcpyHtoD");
  // A copy from pageable memory returns when it has been staged, and not when it is there.
  must(gpu, driver().synchronize(), "cuCtxSynchronize");
}

void copy_out(const Gpu& gpu, void* to, std::uint64_t from, std::size_t bytes) {
  must(gpu, driver().copy_out(to, from, bytes), "cuMemcpyDtoH");
}

void free(const Gpu& gpu, std::uint64_t address) noexcept {
  if (driver().set_current(gpu.context) == 0) driver().free(address);
}

}  // namespace cuda

namespace rocm {

// What of HIP and HSA is used (rocm.docs.amd.com), under their names.
constexpr int kHostToDevice = 1, kDeviceToHost = 2;  // hipMemcpyKind

struct Driver {
  Library hip{"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
  int (*set_device)(int) = hip.find("hipSetDevice");
  const char* (*error_name)(int) = hip.find("hipGetErrorName");
  int (*bus_id)(char*, int length, int device) = hip.find("hipDeviceGetPCIBusId");
  int (*allocate)(void**, std::size_t bytes) = hip.find("hipMalloc");
  int (*free)(void*) = hip.find("hipFree");
  int (*copy)(void* to, const void* from, std::size_t bytes, int kind) = hip.find("hipMemcpy");
  int (*synchronize)() = hip.find("hipDeviceSynchronize");
  Library hsa = hip.whole ? Library{"libhsa-runtime64.so.1"} : Library{};
  unsigned (*share)(const void*, std::size_t bytes, int* dmabuf,
                    std::uint64_t* offset) = hsa.find("hsa_amd_portable_export_dmabuf");
};

const Driver& driver() {
  static const Driver loaded{};
  return loaded;
}

void must(const Gpu& gpu, int result, const char* call) {
  check(gpu, result, call, driver().error_name(result), "rocminfo");
}

void use(const Gpu& gpu) {
  must(gpu, driver().set_device(gpu.number), "hipSetDevice");
}

void open(Gpu& gpu) {
  if (!driver().hip.whole) throw_no_library(gpu, "libamdhip64.so.7, .6 or .5", "AMD's GPUs");
  gpu.number = number_of(gpu);
  use(gpu);
  gpu.bus_id = bus_id_of(driver().bus_id, gpu);
}

std::uint64_t allocate(const Gpu& gpu, std::size_t bytes) {
  void* address = nullptr;
  must(gpu, driver().allocate(&address, bytes), "hipMalloc");
  return reinterpret_cast<std::uint64_t>(address);
}

SharedPart share(const Gpu& gpu, std::uint64_t address, std::size_t bytes, bool pcie) {
  if (pcie)
    throw Unsupported("{}: data-direct is NVIDIA's: use --gpu-registration auto", gpu.memory);
  if (driver().share == nullptr)
    throw Unsupported("{}: that GPU shares no memory as a dma-buf: it takes ROCm 5.6 or newer",
                      gpu.memory);
  int fd = -1;
  std::uint64_t offset = 0;
  const unsigned status =
      driver().share(reinterpret_cast<const void*>(address), bytes, &fd, &offset);
  if (status != 0)
    throw Unsupported(
        "{}: hsa_amd_portable_export_dmabuf: status {:#x}; it takes a kernel with "
        "CONFIG_DMABUF_MOVE_NOTIFY and CONFIG_PCI_P2PDMA",
        gpu.memory, status);
  return {.dmabuf = Descriptor{fd}, .offset = offset};
}

void copy_in(const Gpu& gpu, std::uint64_t to, const void* from, std::size_t bytes) {
  must(gpu, driver().copy(reinterpret_cast<void*>(to), from, bytes, kHostToDevice), "hipMemcpy");
  must(gpu, driver().synchronize(), "hipDeviceSynchronize");
}

void copy_out(const Gpu& gpu, void* to, std::uint64_t from, std::size_t bytes) {
  must(gpu, driver().copy(to, reinterpret_cast<const void*>(from), bytes, kDeviceToHost),
       "hipMemcpy");
}

void free(const Gpu& gpu, std::uint64_t address) noexcept {
  if (driver().set_device(gpu.number) == 0) driver().free(reinterpret_cast<void*>(address));
}

}  // namespace rocm

constexpr std::array kAccelerators{
    Accelerator{kCudaMemory, cuda::open, cuda::use, cuda::allocate, cuda::share, cuda::copy_in,
                cuda::copy_out, cuda::free, "nvidia-peermem"},
    Accelerator{kRocmMemory, rocm::open, rocm::use, rocm::allocate, rocm::share, rocm::copy_in,
                rocm::copy_out, rocm::free, "amdgpu with ib_peer_mem"},
};

}  // namespace

const Accelerator& accelerator_of(std::string_view memory) {
  return *std::ranges::find_if(
      kAccelerators, [memory](const Accelerator& kind) { return memory.starts_with(kind.memory); });
}

namespace {

using Way = GpuRegistration;

GpuWays ways_of(Way how) {
  if (how == Way::automatic) return {Way::dmabuf, Way::pointer};
  if (how == Way::pointer_first) return {Way::pointer, Way::dmabuf};
  return {how, {}};
}

/// What of mlx5's own library is used, which only adapters of NVIDIA's bring.
struct Mlx5 {
  Library library{"libmlx5.so.1"};
  int (*path_of)(ibv_context*, char*,
                 std::size_t) = library.find("mlx5dv_get_data_direct_sysfs_path");
  ibv_mr* (*register_direct)(ibv_pd*, std::uint64_t offset, std::size_t length, std::uint64_t iova,
                             int fd, int access,
                             int mlx5_access) = library.find("mlx5dv_reg_dmabuf_mr");
};

const Mlx5& mlx5() {
  static const Mlx5 loaded{};
  return loaded;
}

bool has_data_direct(ibv_context& context) {
  std::array<char, 512> path{};
  return mlx5().library.whole && mlx5().path_of(&context, path.data(), path.size()) == 0;
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
      allocation_(nullptr, Free{kind_, gpu_}),
      ways_(ways_of(how)) {
  if (how == Way::data_direct && !has_data_direct(context))
    throw Unsupported(
        "--gpu-registration data-direct: the device has no data-direct engine, or this machine's "
        "libmlx5.so.1 does not know of any: use --gpu-registration auto");
  kind_.open(gpu_);
  // A dma-buf is of whole pages of the CPU's, an allocation need not begin with one.
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  size_bytes_ = align_up(size_bytes, page);
  const std::uint64_t begin = kind_.allocate(gpu_, size_bytes_ + page);
  allocation_.reset(reinterpret_cast<void*>(begin));
  address_ = align_up(begin, page);
  if (how == Way::pointer) return;
  try {
    shared_ = kind_.share(gpu_, address_, size_bytes_, how == Way::data_direct);
  } catch (const Unsupported&) {
    if (!ways_.second) throw;
    ways_ = ways_of(Way::pointer);
  }
}

void GpuMemory::Free::operator()(void* address) const noexcept {
  kind.free(gpu, reinterpret_cast<std::uint64_t>(address));
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
  if (ways_.first == Way::pointer)
    return ibv_reg_mr(&pd, reinterpret_cast<void*>(address), length, access);
  if (ways_.first == Way::data_direct)
    return mlx5().register_direct(&pd, at, length, address, shared_.dmabuf.get(), access,
                                  kDataDirect);
  return ibv_reg_dmabuf_mr(&pd, at, length, address, shared_.dmabuf.get(), access);
}

ibv_mr* GpuMemory::try_to_register(ibv_pd& pd, std::size_t offset, std::size_t length,
                                   int access) const noexcept {
  ibv_mr* made = register_this_way(pd, offset, length, access);
  if (made != nullptr || !ways_.second || !is_refused(errno)) return made;
  const int why = errno;
  const GpuWays tried = ways_;
  ways_ = {*ways_.second, {}};
  made = register_this_way(pd, offset, length, access);
  if (made != nullptr || !is_refused(errno)) return made;
  ways_ = tried;  // another region may go
  errno = why;
  return nullptr;
}

const char* GpuMemory::registering_verb() const noexcept {
  return ways_.first == Way::pointer       ? "ibv_reg_mr"
         : ways_.first == Way::data_direct ? "mlx5dv_reg_dmabuf_mr"
                                           : "ibv_reg_dmabuf_mr";
}

std::string_view GpuMemory::way() const noexcept {
  return find_axis("gpu-registration")->words[static_cast<std::size_t>(ways_.first)].text;
}

void GpuMemory::explain(int error, const std::string& where) const {
  if (!is_refused(error)) return;
  const std::string by_address = fmt::format(
      "by its address the kernel registers no memory of {} for {}: that takes the module {}",
      gpu_.memory, where, kind_.peer_memory);
  if (!ways_.second && ways_.first == Way::pointer)
    throw Unsupported(by_address + "; or use --gpu-registration dmabuf");
  const std::string as_dmabuf = fmt::format(
      "{} ({})",
      error == kEnotsupp
          ? fmt::format("the driver that owns the dma-buf does not let {} reach it", where)
          : fmt::format("{} registers no dma-buf", where),
      ways_.first == Way::data_direct ? "mlx5dv_reg_dmabuf_mr" : "ibv_reg_dmabuf_mr");
  if (!ways_.second)
    throw Unsupported(as_dmabuf + ": use --gpu-registration auto, or --memory host");
  throw Unsupported("{}, and {}; or use --memory host", as_dmabuf, by_address);
}

}  // namespace rdmameter
