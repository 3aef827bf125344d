// SPDX-License-Identifier: Apache-2.0
// What a run of many cases allocates before it measures the first one.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/running/runner.h"
#include "core/base/error.h"
#include "fake_measurer.h"

namespace {
std::uint64_t allocated_bytes = 0;
}  // namespace

// Shared libraries, Google Benchmark among them, call these as well.
[[gnu::noinline]] void* operator new(std::size_t size) {
  allocated_bytes += size;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

namespace rdmameter {
namespace {

struct Unheard : RunListener {
  void begin(const std::string&, std::uint64_t, std::uint64_t) override {}
  void row(const Row&) override {}
};

/// @return what run_range() allocates until the first case is measured [B]
std::uint64_t allocated_before_the_first(std::uint64_t count) {
  std::string list = "1";
  for (std::uint64_t size_bytes = 2; size_bytes <= count; ++size_bytes)
    list += ',' + std::to_string(size_bytes);
  const std::vector<GivenAxis> given{{find_axis("size"), read_axis_list(*find_axis("size"), list)}};
  const std::vector<PlannedCase> cases =
      plan_cases(select_tests(std::vector<std::string>{"send_lat"}), given);
  EXPECT_EQ(cases.size(), count);
  std::uint64_t repetitions = 1;
  const BenchmarkFlags flags = initialize_benchmark({}, repetitions);

  StopFlag stop;
  std::uint64_t before_bytes = 0;
  FakeMeasurer measurer{[&](const TestCase&) -> Outcome {
    before_bytes = allocated_bytes - before_bytes;
    stop.request(StopReason::interrupted);
    throw Interrupted("enough");
  }};
  Unheard listener;
  before_bytes = allocated_bytes;
  EXPECT_TRUE(run_range({cases, measurer, stop, listener}, {0, cases.size()}, flags).interrupted);
  EXPECT_EQ(measurer.measured.size(), 1U);
  return before_bytes;
}

TEST(ManyCases, WhatIsAllocatedBeforeTheFirstGrowsAsTheirNumber) {
  const std::uint64_t few_bytes = allocated_before_the_first(100);
  const std::uint64_t many_bytes = allocated_before_the_first(1600);
  EXPECT_LT(many_bytes, 20 * few_bytes);
}

}  // namespace
}  // namespace rdmameter
