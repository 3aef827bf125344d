// SPDX-License-Identifier: Apache-2.0
#include "core/engine/account/latency_breakdown.h"

#include <gtest/gtest.h>

#include <vector>

namespace rdmameter {
namespace {

constexpr std::uint64_t kMask = (1ULL << 32) - 1;

/// A device whose clock ticks once in 4 ns of the loop's (the kernel's), and is about to wrap.
std::uint64_t device_at(std::uint64_t ns) {
  return (kMask - 1000 + ns / 4) & kMask;
}

ClockPair pair_at(std::uint64_t ns, std::uint64_t bracket_ns) {
  return {.ticks = ns, .device = device_at(ns), .bracket_ticks = bracket_ns};
}

TEST(Shares, AreTheThreePartsOfEachSampleAndSumUpToIt) {
  std::vector<Timestamps> timestamps;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t begun = 10'000 + i * 4000;
    timestamps.push_back({begun, begun + 100, device_at(begun + 2100), begun + 2500});
  }
  const auto shares = latency_breakdown_json(timestamps, pair_at(0, 60), pair_at(5'000'000, 80),
                                             kMask, ClockChoice{});
  EXPECT_EQ(shares["samples"], 1000U);
  EXPECT_EQ(shares["clock_error_ns"], 40U);
  EXPECT_EQ(shares["post"]["mean"], 100.0);
  EXPECT_NEAR(shares["wire"]["mean"].get<double>(), 2000, 4);
  EXPECT_NEAR(shares["poll"]["mean"].get<double>(), 400, 4);
  EXPECT_NEAR(shares["wire"]["p99"].get<double>(), 2000, 6);
  const double sum = shares["post"]["mean"].get<double>() + shares["wire"]["mean"].get<double>() +
                     shares["poll"]["mean"].get<double>();
  EXPECT_DOUBLE_EQ(sum, 2500);
}

TEST(Shares, AreNeverNegativeWhereTheClocksAreOff) {
  const std::vector<Timestamps> timestamps{{1000, 1100, device_at(1000), 2000},
                                           {3000, 3100, device_at(4100), 4000}};
  const auto shares = latency_breakdown_json(timestamps, pair_at(0, 900), pair_at(10'000, 900),
                                             kMask, ClockChoice{});
  EXPECT_EQ(shares["wire"]["min"], 0.0);
  EXPECT_EQ(shares["poll"]["min"], 0.0);
  EXPECT_TRUE(shares["post"]["p50"].is_null()) << "too few";
}

TEST(Shares, OfNoSamplesAreNone) {
  EXPECT_EQ(
      latency_breakdown_json({}, pair_at(0, 1), pair_at(0, 1), kMask, ClockChoice{})["samples"],
      0U);
}

}  // namespace
}  // namespace rdmameter
