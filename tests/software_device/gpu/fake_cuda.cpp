// SPDX-License-Identifier: Apache-2.0
// Stands in for NVIDIA's libcuda.so.1: three GPUs, of which the third shares no memory, and the
// second alone maps it through PCIe.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <iterator>

#include "tests/software_device/gpu/fake_memory.h"

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3,
              kInvalidDevice = 101, kInvalidContext = 201, kOperatingSystem = 304,
              kNotSupported = 801;
constexpr int kGpus = 3, kMapped = 1, kUnshared = 2;
constexpr int kDmabufSupported = 124, kDmabufFd = 1, kContextAttribute = 1;

bool initialized = false;
int contexts[kGpus]{};
// Not in a block of its own for each thread, as a library has it that is loaded while the program
// runs: LeakSanitizer takes such a block for one of glibc's, one time in 256, by its address (lsan
// and sanitizer_tls_get_addr.cpp), and crashes.
[[gnu::tls_model("initial-exec")]] thread_local void* current = nullptr;

/// The context of each allocation, in which alone its bytes are copied.
std::map<std::uint64_t, void*>& owners() {
  static auto* const all = new std::map<std::uint64_t, void*>;
  return *all;
}

void* owner_of(std::uint64_t address) {
  const std::lock_guard locked(fake_gpu::mutex);
  const auto behind = owners().upper_bound(address);
  return behind == owners().begin() ? nullptr : std::prev(behind)->second;
}

/// As CUDA, which gives its threads names so; in a sandbox that forbids it, it does not start.
bool names_its_threads() {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/self/task/%d/comm", gettid());
  const int comm = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  return comm >= 0 && close(comm) == 0;
}

int outcome(bool well) {
  return current == nullptr ? kInvalidContext : well ? kSuccess : kInvalidValue;
}

}  // namespace

extern "C" {

int cuInit(unsigned /*flags*/) {
  if (!names_its_threads()) return kOperatingSystem;
  initialized = true;
  fake_gpu::before_file = fake_gpu::kPage;
  return kSuccess;
}
int cuGetErrorName(int error, const char** name) {
  *name = error == kInvalidDevice ? "CUDA_ERROR_INVALID_DEVICE"
          : error == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY"
                                  : "CUDA_ERROR_UNKNOWN";
  return kSuccess;
}
int cuDeviceGet(int* device, int number) {
  if (!initialized) return kNotInitialized;
  if (number < 0 || number >= kGpus) return kInvalidDevice;
  *device = number;
  return kSuccess;
}
int cuDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%d7:00.0", device + 1);
  return kSuccess;
}
int cuDeviceGetByPCIBusId(int* device, const char* bus_id) {
  char text[16];
  for (*device = 0; *device < kGpus; ++*device) {
    cuDeviceGetPCIBusId(text, sizeof text, *device);
    if (std::strcmp(text, bus_id) == 0) return kSuccess;
  }
  return kInvalidDevice;
}
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (attribute != kDmabufSupported) return kInvalidValue;
  *value = device == kUnshared ? 0 : 1;
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  *context = &contexts[device];
  return kSuccess;
}
int cuCtxSetCurrent(void* context) {
  current = context;
  return kSuccess;
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  if (current == nullptr) return kInvalidContext;
  *address = fake_gpu::allocate(bytes);
  const std::lock_guard locked(fake_gpu::mutex);
  owners()[*address] = current;
  return *address == 0 ? kOutOfMemory : kSuccess;
}
int cuMemFree_v2(std::uint64_t address) {
  {
    const std::lock_guard locked(fake_gpu::mutex);
    owners().erase(address);  // before another thread has the address
  }
  return outcome(fake_gpu::release(address));
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  return outcome(owner_of(to) == current && fake_gpu::copy_in(to, from, bytes));
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  return outcome(owner_of(from) == current && fake_gpu::copy_out(to, from, bytes));
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  *free = fake_gpu::free_bytes();
  *total = fake_gpu::kGpuBytes;
  return outcome(true);
}
int cuCtxSynchronize() {
  return outcome(true);
}
int cuPointerSetAttribute(const void* /*value*/, int /*attribute*/, std::uint64_t /*address*/) {
  return outcome(true);
}
int cuPointerGetAttribute(void* value, int attribute, std::uint64_t address) {
  std::uint64_t offset = 0;
  if (attribute != kContextAttribute || fake_gpu::file_of(address, 1, offset) < 0)
    return kInvalidValue;
  *static_cast<void**>(value) = owner_of(address);
  return kSuccess;
}
/// As CUDA: of whole pages. Here of an allocation's first whole page on, for which the dma-buf is.
int cuMemGetHandleForAddressRange(void* handle, std::uint64_t address, std::size_t bytes, int type,
                                  unsigned long long flags) {
  if (flags != 0 && current != &contexts[kMapped]) return kNotSupported;
  std::uint64_t offset = 0;
  const int file = fake_gpu::file_of(address, bytes, offset);
  if (type != kDmabufFd || address % fake_gpu::kPage != 0 || bytes % fake_gpu::kPage != 0 ||
      file < 0 || offset != 0)
    return kInvalidValue;
  *static_cast<int*>(handle) = fake_gpu::new_dmabuf(file);
  return kSuccess;
}

/// For the software device, which maps what is registered by its address.
int fake_gpu_file(std::uint64_t address, std::size_t bytes, std::uint64_t* offset) {
  return fake_gpu::file_of(address, bytes, *offset);
}

}  // extern "C"
