// SPDX-License-Identifier: Apache-2.0
// Stands in for NVIDIA's libcuda.so.1: three GPUs, of which the third shares no memory. What it
// allocates lies in a file in memory behind addresses that the CPU may not touch.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kNotInitialized = 3,
              kInvalidDevice = 101, kInvalidContext = 201;
constexpr int kGpus = 3, kUnshared = 2;
constexpr int kDmabufSupported = 124, kDmabufFd = 1;
constexpr std::size_t kPage = 4096, kGpuBytes = std::size_t{16} << 30;

struct Allocation {
  int file;
  std::size_t bytes;
};

std::mutex mutex;
bool initialized = false;
int contexts[kGpus]{};
// Not in a block of its own for each thread, as a library has it that is loaded while the program
// runs: LeakSanitizer takes such a block for one of glibc's, one time in 256, by its address (lsan
// and sanitizer_tls_get_addr.cpp), and crashes.
[[gnu::tls_model("initial-exec")]] thread_local void* current = nullptr;
std::map<std::uint64_t, Allocation>& allocations() {
  static auto* const all = new std::map<std::uint64_t, Allocation>;
  return *all;
}

std::size_t whole_pages(std::size_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

std::size_t free_bytes() {
  const std::lock_guard locked(mutex);
  std::size_t used = 0;
  for (const auto& [begin, each] : allocations()) used += each.bytes;
  return kGpuBytes - used;
}

/// The allocation whose file has the range; null: none has.
const Allocation* holder_of(std::uint64_t address, std::size_t bytes, std::size_t& offset) {
  for (const auto& [begin, each] : allocations()) {
    const std::uint64_t file_at = begin + kPage;
    if (address < file_at || address - file_at > each.bytes) continue;
    offset = address - file_at;
    if (bytes <= each.bytes - offset) return &each;
  }
  return nullptr;
}

}  // namespace

extern "C" {

int cuInit(unsigned /*flags*/) {
  initialized = true;
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
int cuDeviceGetAttribute(int* value, int attribute, int device) {
  if (attribute != kDmabufSupported) return kInvalidValue;
  *value = device == kUnshared ? 0 : 1;
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  const std::lock_guard locked(mutex);
  ++contexts[device];
  *context = &contexts[device];
  return kSuccess;
}
int cuCtxSetCurrent(void* context) {
  current = context;
  return kSuccess;
}

/// It begins 256 bytes behind a page: CUDA promises no more. From the next page on it is a file's.
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  constexpr std::size_t kBefore = 256;
  if (current == nullptr) return kInvalidContext;
  const std::size_t room = whole_pages(bytes);
  if (room > free_bytes()) return kOutOfMemory;
  void* const pages =
      mmap(nullptr, kPage + room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (pages == MAP_FAILED) return kOutOfMemory;
  const int file = memfd_create("fake-cuda", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, static_cast<off_t>(room)) != 0) return kOutOfMemory;
  const auto begin = reinterpret_cast<std::uint64_t>(pages);
  *address = begin + kBefore;
  const std::lock_guard locked(mutex);
  allocations()[begin] = {file, room};
  return kSuccess;
}
int cuMemFree_v2(std::uint64_t address) {
  if (current == nullptr) return kInvalidContext;
  const std::lock_guard locked(mutex);
  const auto found = allocations().find(address / kPage * kPage);
  if (found == allocations().end()) return kInvalidValue;
  munmap(reinterpret_cast<void*>(found->first), kPage + found->second.bytes);
  close(found->second.file);
  allocations().erase(found);
  return kSuccess;
}
int cuMemcpyHtoD_v2(std::uint64_t to, const void* from, std::size_t bytes) {
  if (current == nullptr) return kInvalidContext;
  const std::lock_guard locked(mutex);
  std::size_t offset = 0;
  const Allocation* const holder = holder_of(to, bytes, offset);
  if (holder == nullptr) return kInvalidValue;
  return pwrite(holder->file, from, bytes, static_cast<off_t>(offset)) ==
                 static_cast<ssize_t>(bytes)
             ? kSuccess
             : kInvalidValue;
}
int cuMemcpyDtoH_v2(void* to, std::uint64_t from, std::size_t bytes) {
  if (current == nullptr) return kInvalidContext;
  const std::lock_guard locked(mutex);
  std::size_t offset = 0;
  const Allocation* const holder = holder_of(from, bytes, offset);
  if (holder == nullptr) return kInvalidValue;
  return pread(holder->file, to, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes)
             ? kSuccess
             : kInvalidValue;
}
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
  if (current == nullptr) return kInvalidContext;
  *free = free_bytes();
  *total = kGpuBytes;
  return kSuccess;
}
int cuCtxSynchronize() {
  return current == nullptr ? kInvalidContext : kSuccess;
}
/// As CUDA: of whole pages. Here of an allocation's first whole page on.
int cuMemGetHandleForAddressRange(void* handle, std::uint64_t address, std::size_t bytes, int type,
                                  unsigned long long /*flags*/) {
  const std::lock_guard locked(mutex);
  std::size_t offset = 0;
  const Allocation* const holder = holder_of(address, bytes, offset);
  if (type != kDmabufFd || address % kPage != 0 || bytes % kPage != 0 || holder == nullptr ||
      offset != 0)
    return kInvalidValue;
  *static_cast<int*>(handle) = fcntl(holder->file, F_DUPFD_CLOEXEC, 0);
  return kSuccess;
}

}  // extern "C"
