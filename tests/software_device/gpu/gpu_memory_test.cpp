// SPDX-License-Identifier: Apache-2.0
// Run with the stand-ins for the drivers' libraries, and by hand on a machine with an NVIDIA GPU
// (CONTRIBUTING.md). The device is the software device.
#include "core/verbs/memory/gpu_memory.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/verbs/handles.h"

namespace rdmameter {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr std::size_t kBytes = 200'000;
constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE;

/// The first device, open.
struct Device {
  Device() {
    ibv_device** const all = ibv_get_device_list(nullptr);
    context.reset(ibv_open_device(all[0]));
    ibv_free_device_list(all);
    pd.reset(ibv_alloc_pd(context.get()));
  }
  Context context;
  Pd pd;
};

bool on_stand_in(const char* library) {
  void* const loaded = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  return loaded != nullptr && dlsym(loaded, "fake_gpu_file") != nullptr;
}

class EachGpu : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (is_rocm() && !on_stand_in("libamdhip64.so.6")) GTEST_SKIP() << "here is no GPU of AMD's";
  }
  static bool is_rocm() { return std::string(GetParam()).starts_with(kRocmMemory); }
  GpuMemory memory(std::size_t bytes = kBytes, GpuRegistration how = GpuRegistration::automatic) {
    return {*device.context, GetParam(), bytes, how};
  }
  Device device;
};
INSTANTIATE_TEST_SUITE_P(Kinds, EachGpu, testing::Values("cuda:0", "rocm:0"));

std::vector<std::byte> bytes_of(const GpuMemory& memory, std::size_t offset, std::size_t count) {
  std::vector<std::byte> bytes(count);
  memory.read(offset, bytes);
  return bytes;
}

TEST_P(EachGpu, IsOfWholePagesAndRegisteredInParts) {
  const GpuMemory held = memory();
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(held.address() % page, 0);
  EXPECT_EQ(held.size_bytes() % page, 0);
  EXPECT_GE(held.size_bytes(), kBytes);
  const Mr whole{held.try_to_register(*device.pd, 0, held.size_bytes(), kAccess)};
  const Mr part{held.try_to_register(*device.pd, page + 64, page, kAccess)};
  ASSERT_TRUE(whole && part);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(part->addr), held.address() + page + 64);
  EXPECT_EQ(held.way(), "dmabuf");
}

TEST_P(EachGpu, IsRegisteredByItsAddressWhereThatIsAsked) {
  const GpuMemory held = memory(kBytes, GpuRegistration::pointer);
  EXPECT_TRUE(Mr{held.try_to_register(*device.pd, 0, kBytes, kAccess)});
  EXPECT_STREQ(held.registering_verb(), "ibv_reg_mr");
  EXPECT_THAT([&] { held.explain(EFAULT, "soft0/1"); },
              ThrowsMessage<Unsupported>(
                  HasSubstr(is_rocm() ? "the module amdgpu" : "the module nvidia-peermem")));
}

TEST_P(EachGpu, HoldsWhatIsWritten) {
  GpuMemory held = memory();
  std::vector<std::byte> sent(kBytes - 3);
  for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<std::byte>(i * 31 + 7);
  held.write(3, sent);
  EXPECT_EQ(bytes_of(held, 3, sent.size()), sent);
  held.write(100, std::span(sent).first(1));
  EXPECT_EQ(bytes_of(held, 100, 1)[0], sent[0]);
}

TEST_P(EachGpu, SeveralAreApart) {
  GpuMemory one = memory(), other = memory();
  one.write(0, std::vector(kBytes, std::byte{1}));
  other.write(0, std::vector(kBytes, std::byte{2}));
  EXPECT_EQ(bytes_of(one, 0, kBytes), std::vector(kBytes, std::byte{1}));
}

TEST_P(EachGpu, ATooLargeOneNamesTheCallAndItsError) {
  EXPECT_THAT(
      [&] { memory(std::size_t{1} << 50); },
      ThrowsMessage<VerbsError>(HasSubstr(is_rocm() ? "hipMalloc of rocm:0: hipErrorOutOfMemory (2)"
                                                    : "cuMemAlloc of cuda:0: "
                                                      "CUDA_ERROR_OUT_OF_MEMORY (2)")));
}

TEST_P(EachGpu, OneThatIsMissingIsUnsupported) {
  const std::string missing = std::string(GetParam()).substr(0, kCudaMemory.size()) + "200";
  EXPECT_THAT([&] { GpuMemory(*device.context, missing, 1, GpuRegistration::automatic); },
              ThrowsMessage<Unsupported>(HasSubstr("(101): this machine has no such GPU")));
}

std::uint64_t free_on_gpu() {
  using Info = int (*)(std::size_t * free, std::size_t * total);
  static const auto info = reinterpret_cast<Info>(
      dlsym(dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL), "cuMemGetInfo_v2"));
  std::size_t free = 0, total = 0;
  EXPECT_EQ(info(&free, &total), 0);
  return free;
}

TEST(CudaMemory, IsGivenBack) {
  const Device device;
  const auto make = [&](std::size_t bytes) {
    return GpuMemory(*device.context, "cuda:0", bytes, GpuRegistration::automatic);
  };
  const GpuMemory first = make(kBytes);  // it brings the context, which takes memory, too
  const std::uint64_t before = free_on_gpu();
  for (int i = 0; i < 100; ++i) make(std::size_t{64} << 20);
  EXPECT_GE(free_on_gpu() + (std::size_t{64} << 20), before);
}

TEST(CudaMemory, IsFoundByItsBusId) {
  const Device device;
  Gpu gpu{.memory = "cuda:0", .which = "0"};
  const Accelerator& cuda = accelerator_of("cuda:0");
  cuda.open(gpu);
  const std::string bus_id = gpu.bus_id;
  EXPECT_THAT(bus_id, testing::MatchesRegex("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.0"));
  Gpu same{.memory = "cuda:" + bus_id, .which = bus_id};
  cuda.open(same);
  EXPECT_EQ(same.number, gpu.number);
}

TEST(CudaMemory, AGpuThatSharesNothingIsRegisteredByItsAddressUnlessToldOtherwise) {
  if (!on_stand_in("libcuda.so.1")) GTEST_SKIP() << "this machine's GPU shares its memory";
  const Device device;
  const GpuMemory held(*device.context, "cuda:2", kBytes, GpuRegistration::automatic);
  EXPECT_TRUE(Mr{held.try_to_register(*device.pd, 0, kBytes, kAccess)});
  EXPECT_EQ(held.way(), "pointer");
  EXPECT_THAT([&] { GpuMemory(*device.context, "cuda:2", kBytes, GpuRegistration::dmabuf); },
              ThrowsMessage<Unsupported>(HasSubstr("that GPU shares no memory as a dma-buf")));
}

TEST(CudaMemory, WithoutADataDirectEngineIsUnsupported) {
  const Device device;
  EXPECT_THAT([&] { GpuMemory(*device.context, "cuda:0", kBytes, GpuRegistration::data_direct); },
              ThrowsMessage<Unsupported>(HasSubstr("the device has no data-direct engine")));
}

}  // namespace
}  // namespace rdmameter
