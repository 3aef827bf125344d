// SPDX-License-Identifier: Apache-2.0
// The program's operator new: as the standard library's, but what it throws says how much was asked
// for. The sanitizers have one of their own.
#include <cstdlib>
#include <new>

#include "core/base/error_text.h"

// Inlined, GCC takes free() for the wrong end of what its own operator new would have made.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw rdmameter::OutOfMemory(bytes);
}

/// Of types that are aligned to a cache line.
[[gnu::noinline]] void* operator new(std::size_t bytes, std::align_val_t alignment) {
  void* memory = nullptr;
  if (posix_memalign(&memory, static_cast<std::size_t>(alignment), bytes) == 0) return memory;
  throw rdmameter::OutOfMemory(bytes);
}

[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}

[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
