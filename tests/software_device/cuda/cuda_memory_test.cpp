// SPDX-License-Identifier: Apache-2.0
// Run with the stand-in for CUDA's library, and by hand on a machine with a GPU (CONTRIBUTING.md).
#include "core/verbs/memory/cuda_memory.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"

namespace rdmameter {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kBytes = 200'000;

std::vector<std::byte> bytes_of(const CudaMemory& memory, std::size_t offset, std::size_t count) {
  std::vector<std::byte> bytes(count);
  memory.read(offset, bytes);
  return bytes;
}

std::uint64_t free_on_gpu() {
  using Info = int (*)(std::size_t * free, std::size_t * total);
  static const auto info = reinterpret_cast<Info>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "cuMemGetInfo_v2"));
  std::size_t free = 0, total = 0;
  EXPECT_EQ(info(&free, &total), 0);
  return free;
}

TEST(CudaMemory, IsAWholeDmabufOfPages) {
  const CudaMemory memory("0", kBytes, FileMemory::devices);
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(memory.address() % page, 0);
  EXPECT_EQ(memory.size_bytes() % page, 0);
  EXPECT_GE(memory.size_bytes(), kBytes);
  EXPECT_GE(lseek(memory.dmabuf(), 0, SEEK_END), static_cast<off_t>(memory.size_bytes()));
}

TEST(CudaMemory, HoldsWhatIsWritten) {
  CudaMemory memory("0", kBytes, FileMemory::devices);
  std::vector<std::byte> sent(kBytes - 3);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 31 + 7);
  memory.write(3, sent);
  EXPECT_EQ(bytes_of(memory, 3, sent.size()), sent);
  memory.write(100, std::span(sent).first(1));
  EXPECT_EQ(bytes_of(memory, 100, 1)[0], sent[0]);
}

TEST(CudaMemory, IsGivenBack) {
  // The first one brings the context, which takes memory, too.
  const CudaMemory first("0", kBytes, FileMemory::devices);
  const std::uint64_t before = free_on_gpu();
  for (int i = 0; i < 100; ++i) CudaMemory("0", std::size_t{64} << 20, FileMemory::devices);
  EXPECT_GE(free_on_gpu() + (std::size_t{64} << 20), before);
}

TEST(CudaMemory, SeveralAreApart) {
  CudaMemory one("0", kBytes, FileMemory::devices), other("0", kBytes, FileMemory::devices);
  one.write(0, std::vector(kBytes, std::byte{1}));
  other.write(0, std::vector(kBytes, std::byte{2}));
  EXPECT_EQ(bytes_of(one, 0, kBytes), std::vector(kBytes, std::byte{1}));
  EXPECT_NE(one.dmabuf(), other.dmabuf());
}

TEST(CudaMemory, ATooLargeOneNamesTheCallAndItsError) {
  EXPECT_THAT([] { CudaMemory("0", std::size_t{1} << 50, FileMemory::devices); },
              ThrowsMessage<VerbsError>(HasSubstr("cuMemAlloc of --memory cuda:0: "
                                                  "CUDA_ERROR_OUT_OF_MEMORY (2)")));
}

TEST(CudaMemory, AGpuThatIsMissingIsUnsupported) {
  EXPECT_THAT([] { CudaMemory("200", kBytes, FileMemory::devices); },
              ThrowsMessage<Unsupported>(HasSubstr("CUDA_ERROR_INVALID_DEVICE (101): this machine "
                                                   "has no such GPU")));
}

}  // namespace
}  // namespace rdmameter
