// SPDX-License-Identifier: Apache-2.0
// Stands in for AMD's libhsa-runtime64.so.1, beside fake_hip.
#include <dlfcn.h>
#include <fcntl.h>

#include <cstddef>
#include <cstdint>

extern "C" {

/// As HSA: of the whole allocation, with the offset of what was asked for.
unsigned hsa_amd_portable_export_dmabuf(const void* pointer, std::size_t bytes, int* dmabuf,
                                        std::uint64_t* offset) {
  constexpr unsigned kInvalidArgument = 0x1001;
  using File = int(std::uint64_t, std::size_t, std::uint64_t*);
  void* const hip = dlopen("libamdhip64.so.6", RTLD_NOW | RTLD_NOLOAD);
  auto* const file_of =
      reinterpret_cast<File*>(hip == nullptr ? nullptr : dlsym(hip, "fake_gpu_file"));
  const int file =
      file_of == nullptr ? -1 : file_of(reinterpret_cast<std::uint64_t>(pointer), bytes, offset);
  if (file < 0) return kInvalidArgument;
  *dmabuf = fcntl(file, F_DUPFD_CLOEXEC, 0);
  return 0;
}

}  // extern "C"
