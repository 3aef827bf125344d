// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/gpu_bytes.h"

#include <dlfcn.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "tests/software_device/segment/process.h"

namespace rdmameter::software {
namespace {

constexpr int kContextAttribute = 1;  // CU_POINTER_ATTRIBUTE_CONTEXT

struct Driver {
  int (*attribute)(void* value, int attribute, std::uint64_t) = nullptr;
  int (*set_current)(void* context) = nullptr;
  int (*copy_in)(std::uint64_t to, const void* from, std::size_t) = nullptr;
  int (*copy_out)(void* to, std::uint64_t from, std::size_t) = nullptr;
  int (*synchronize)() = nullptr;
};

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
}

/// Of a library that the program has loaded; null: it has none.
const Driver* driver() {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (library == nullptr) return nullptr;
  static const Driver found = [library] {
    Driver driver;
    find(library, "cuPointerGetAttribute", driver.attribute);
    find(library, "cuCtxSetCurrent", driver.set_current);
    find(library, "cuMemcpyHtoD_v2", driver.copy_in);
    find(library, "cuMemcpyDtoH_v2", driver.copy_out);
    find(library, "cuCtxSynchronize", driver.synchronize);
    return driver;
  }();
  return found.attribute != nullptr ? &found : nullptr;
}

std::atomic<int> noted{0};  ///< most processes have none, and need no lock to know that
std::mutex gpu_mutex;
struct Range {
  std::uint64_t begin, end;
};
std::vector<Range>& ranges() {
  static auto* const all = new std::vector<Range>;
  return *all;
}

bool is_gpu_memory(const void* place) {
  const auto address = reinterpret_cast<std::uint64_t>(place);
  const std::lock_guard locked(gpu_mutex);
  return std::ranges::any_of(
      ranges(), [&](const Range& each) { return each.begin <= address && address < each.end; });
}

void require(int error) {
  if (error != 0) die("a copy of a GPU's memory failed");
}

void enter_context_of(const Driver& cuda, std::uint64_t address) {
  void* context = nullptr;
  require(cuda.attribute(&context, kContextAttribute, address));
  require(cuda.set_current(context));
}

void copy_in(const Driver& cuda, std::byte* to, const std::byte* from, std::size_t length) {
  const auto address = reinterpret_cast<std::uint64_t>(to);
  enter_context_of(cuda, address);
  require(cuda.copy_in(address, from, length));
  require(cuda.synchronize());
}

void copy_out(const Driver& cuda, std::byte* to, const std::byte* from, std::size_t length) {
  const auto address = reinterpret_cast<std::uint64_t>(from);
  enter_context_of(cuda, address);
  require(cuda.copy_out(to, address, length));
}

}  // namespace

std::optional<GpuPart> fake_gpu_part(std::uint64_t address, std::size_t length) {
  using File = int(std::uint64_t, std::size_t, std::uint64_t*);
  for (const char* name : {"libcuda.so.1", "libamdhip64.so.6"}) {
    void* const library = dlopen(name, RTLD_NOW | RTLD_NOLOAD);
    void* const found = library == nullptr ? nullptr : dlsym(library, "fake_gpu_file");
    if (found == nullptr) continue;
    std::uint64_t offset = 0;
    const int file = reinterpret_cast<File*>(found)(address, length, &offset);
    if (file >= 0) return GpuPart{file, offset};
  }
  return std::nullopt;
}

bool note_gpu_memory(std::uint64_t address, std::size_t length) {
  const Driver* const cuda = driver();
  void* context = nullptr;
  if (cuda == nullptr || cuda->attribute(&context, kContextAttribute, address) != 0) return false;
  const std::lock_guard locked(gpu_mutex);
  ranges().push_back({address, address + length});
  ++noted;
  return true;
}

void forget_gpu_memory(std::uint64_t address) {
  if (noted.load(std::memory_order_relaxed) == 0) return;
  const std::lock_guard locked(gpu_mutex);
  const auto found = std::ranges::find(ranges(), address, &Range::begin);
  if (found == ranges().end()) return;
  ranges().erase(found);
  --noted;
}

bool copy_gpu_bytes(std::byte* to, const std::byte* from, std::size_t length) {
  if (noted.load(std::memory_order_relaxed) == 0) return false;
  const bool in = is_gpu_memory(to), out = is_gpu_memory(from);
  if (!in && !out) return false;
  std::vector<std::byte> between(in && out ? length : 0);
  if (out) copy_out(*driver(), in ? between.data() : to, from, length);
  if (in) copy_in(*driver(), to, out ? between.data() : from, length);
  return true;
}

}  // namespace rdmameter::software
