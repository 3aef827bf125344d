// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/memory/cuda_memory.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>

#include "core/base/error.h"
#include "core/test_case/test_case.h"

namespace rdmameter {
namespace {

// What of CUDA's driver API is used (docs.nvidia.com/cuda/cuda-driver-api), under its names.
using CUresult = int;
using CUdevice = int;
using CUcontext = void*;
using CUdeviceptr = std::uint64_t;
constexpr CUresult kSuccess = 0, kNoDevice = 100, kInvalidDevice = 101;
constexpr int kDmabufSupported = 124;  // CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED
constexpr int kDmabufFd = 1;           // CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD

/// The library's functions; null: it has no such.
struct Driver {
  CUresult (*init)(unsigned flags) = nullptr;
  CUresult (*error_name)(CUresult, const char** text) = nullptr;
  CUresult (*device)(CUdevice*, int number) = nullptr;
  CUresult (*attribute)(int* value, int attribute, CUdevice) = nullptr;
  CUresult (*retain)(CUcontext*, CUdevice) = nullptr;
  CUresult (*set_current)(CUcontext) = nullptr;
  CUresult (*allocate)(CUdeviceptr*, std::size_t bytes) = nullptr;
  CUresult (*free)(CUdeviceptr) = nullptr;
  CUresult (*copy_in)(CUdeviceptr to, const void* from, std::size_t bytes) = nullptr;
  CUresult (*copy_out)(void* to, CUdeviceptr from, std::size_t bytes) = nullptr;
  CUresult (*synchronize)() = nullptr;
  CUresult (*handle)(void* handle, CUdeviceptr, std::size_t bytes, int type,
                     unsigned long long flags) = nullptr;
  bool whole = true;  ///< has it all of them?
};

template <class Function>
void find(void* library, const char* name, Function& function, bool& all) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  all &= function != nullptr;
}

Driver load(void* library) {
  Driver driver;
  find(library, "cuInit", driver.init, driver.whole);
  find(library, "cuGetErrorName", driver.error_name, driver.whole);
  find(library, "cuDeviceGet", driver.device, driver.whole);
  find(library, "cuDeviceGetAttribute", driver.attribute, driver.whole);
  find(library, "cuDevicePrimaryCtxRetain", driver.retain, driver.whole);
  find(library, "cuCtxSetCurrent", driver.set_current, driver.whole);
  find(library, "cuMemAlloc_v2", driver.allocate, driver.whole);
  find(library, "cuMemFree_v2", driver.free, driver.whole);
  find(library, "cuMemcpyHtoD_v2", driver.copy_in, driver.whole);
  find(library, "cuMemcpyDtoH_v2", driver.copy_out, driver.whole);
  find(library, "cuCtxSynchronize", driver.synchronize, driver.whole);
  find(library, "cuMemGetHandleForAddressRange", driver.handle, driver.whole);
  return driver;
}

/// Loaded once, and never unloaded: it has threads of its own.
const Driver& driver(const std::string& option) {
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    throw Unsupported(fmt::format(
        "{}: this machine has no libcuda.so.1, which the driver of NVIDIA's GPUs brings", option));
  static const Driver loaded = load(library);
  if (!loaded.whole)
    throw Unsupported(fmt::format(
        "{}: the machine's libcuda.so.1 shares no GPU memory as a dma-buf: that takes the driver "
        "of CUDA 11.7 or newer",
        option));
  return loaded;
}

void check(const Driver& cuda, CUresult result, const char* call, const std::string& option) {
  if (result == kSuccess) return;
  const char* name = nullptr;
  if (cuda.error_name(result, &name) != kSuccess || name == nullptr) name = "unknown error";
  const std::string text = fmt::format("{} of {}: {} ({})", call, option, name, result);
  if (result == kNoDevice || result == kInvalidDevice)
    throw Unsupported(text + ": this machine has no such GPU; see `nvidia-smi -L`");
  throw VerbsError(text, EIO);
}

}  // namespace

CudaMemory::CudaMemory(const std::string& gpu, std::size_t size_bytes, FileMemory allowed)
    : option_(fmt::format("--memory {}{}", kCudaMemory, gpu)), size_bytes_(size_bytes) {
  if (allowed == FileMemory::none)
    throw Unsupported(
        "only the initiator may use a GPU's memory: a client must not have a device of the "
        "server's machine opened; --peer-memory takes host, huge, huge1g or device");
  std::from_chars(gpu.data(), gpu.data() + gpu.size(), device_);
  try {
    allocate();
  } catch (...) {
    release();
    throw;
  }
}

CudaMemory::~CudaMemory() {
  release();
}

void CudaMemory::allocate() {
  const Driver& cuda = driver(option_);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  check(cuda, cuda.init(0), "cuInit", option_);
  const int number = device_;
  check(cuda, cuda.device(&device_, number), "cuDeviceGet", option_);
  int shares = 0;
  check(cuda, cuda.attribute(&shares, kDmabufSupported, device_), "cuDeviceGetAttribute", option_);
  if (shares == 0)
    throw Unsupported(fmt::format(
        "{}: that GPU shares no memory as a dma-buf: it takes NVIDIA's open kernel modules and a "
        "Linux of 5.12 or newer",
        option_));
  // Not released: a context of its own for each case would take 0.2 s (of an H200).
  check(cuda, cuda.retain(&context_, device_), "cuDevicePrimaryCtxRetain", option_);
  check(cuda, cuda.set_current(context_), "cuCtxSetCurrent", option_);
  // A dma-buf is of whole pages of the CPU's, an allocation need not begin with one.
  size_bytes_ = (size_bytes_ + page - 1) / page * page;
  check(cuda, cuda.allocate(&allocation_, size_bytes_ + page), "cuMemAlloc", option_);
  address_ = (allocation_ + page - 1) / page * page;
  int fd = -1;
  check(cuda, cuda.handle(&fd, address_, size_bytes_, kDmabufFd, 0),
        "cuMemGetHandleForAddressRange", option_);
  dmabuf_.reset(fd);
}

void CudaMemory::release() noexcept {
  dmabuf_.reset();
  if (context_ == nullptr) return;
  const Driver& cuda = driver(option_);
  if (cuda.set_current(context_) == kSuccess && allocation_ != 0) cuda.free(allocation_);
}

void CudaMemory::write(std::size_t offset, std::span<const std::byte> bytes) {
  const Driver& cuda = driver(option_);
  check(cuda, cuda.set_current(context_), "cuCtxSetCurrent", option_);
  check(cuda, cuda.copy_in(address_ + offset, bytes.data(), bytes.size()), "cuMemcpyHtoD", option_);
  // A copy from pageable memory returns when it has been staged, and not when it is there.
  check(cuda, cuda.synchronize(), "cuCtxSynchronize", option_);
}

void CudaMemory::read(std::size_t offset, std::span<std::byte> bytes) const {
  const Driver& cuda = driver(option_);
  check(cuda, cuda.set_current(context_), "cuCtxSetCurrent", option_);
  check(cuda, cuda.copy_out(bytes.data(), address_ + offset, bytes.size()), "cuMemcpyDtoH",
        option_);
}

}  // namespace rdmameter
