// SPDX-License-Identifier: Apache-2.0
// Stands in for AMD's libamdhip64.so.6: two GPUs.
#include <cstdio>

#include "tests/software_device/gpu/fake_memory.h"

namespace {

constexpr int kSuccess = 0, kInvalidValue = 1, kOutOfMemory = 2, kInvalidDevice = 101;
constexpr int kGpus = 2;
constexpr int kHostToDevice = 1, kDeviceToHost = 2;

}  // namespace

extern "C" {

int hipSetDevice(int number) {
  return number >= 0 && number < kGpus ? kSuccess : kInvalidDevice;
}
const char* hipGetErrorName(int error) {
  return error == kInvalidDevice ? "hipErrorInvalidDevice"
         : error == kOutOfMemory ? "hipErrorOutOfMemory"
                                 : "hipErrorUnknown";
}
int hipDeviceGetPCIBusId(char* text, int length, int device) {
  std::snprintf(text, static_cast<std::size_t>(length), "0000:%dA:00.0", device + 1);
  return kSuccess;
}
int hipMalloc(void** address, std::size_t bytes) {
  *address = reinterpret_cast<void*>(fake_gpu::allocate(bytes));
  return *address == nullptr ? kOutOfMemory : kSuccess;
}
int hipFree(void* address) {
  return fake_gpu::release(reinterpret_cast<std::uint64_t>(address)) ? kSuccess : kInvalidValue;
}
int hipMemcpy(void* to, const void* from, std::size_t bytes, int kind) {
  const bool copied =
      kind == kHostToDevice   ? fake_gpu::copy_in(reinterpret_cast<std::uint64_t>(to), from, bytes)
      : kind == kDeviceToHost ? fake_gpu::copy_out(to, reinterpret_cast<std::uint64_t>(from), bytes)
                              : false;
  return copied ? kSuccess : kInvalidValue;
}
int hipDeviceSynchronize() {
  return kSuccess;
}

/// For the software device, which maps what is registered by its address; and for fake_hsa.
int fake_gpu_file(std::uint64_t address, std::size_t bytes, std::uint64_t* offset) {
  return fake_gpu::file_of(address, bytes, *offset);
}

}  // extern "C"
