// SPDX-License-Identifier: Apache-2.0
// A mix of requests: how its parts are drawn, and the open loop of a mix on a virtual clock, in
// front of a server that takes longer for one part than for the other.
#include "core/test_case/mix.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

#include "virtual_server.h"

namespace rdmameter {
namespace {

constexpr std::array<double, 2> kShare = {0.7, 0.3};
constexpr std::array<std::uint64_t, 2> kPartService_ns = {kService_ns / 2, 3 * kService_ns};

/// Of the two parts a mean service of 1.25 kService_ns.
TestCase mix_case(double utilisation, std::uint64_t requests, std::uint64_t depth) {
  const double mean_ns = kShare[0] * static_cast<double>(kPartService_ns[0]) +
                         kShare[1] * static_cast<double>(kPartService_ns[1]);
  TestCase test_case = load_case(utilisation, requests, depth);
  test_case.opcode = Opcode::mix;
  test_case.mix = "read:70+write:30";
  test_case.rate = static_cast<std::uint64_t>(std::llround(utilisation * 1e9 / mean_ns));
  return test_case;
}

TEST(Mix, IsDrawnWithItsWeights) {
  TestCase test_case = mix_case(0.5, 1'000'000, 1);
  test_case.mix = "read:4096:50+read:64:20+write:8:29+write:1";
  const std::array<double, 4> shares = {0.5, 0.2, 0.29, 0.01};
  for (const std::uint64_t seed : {1, 2, 3}) {
    std::array<double, 4> drawn{};
    const auto parts = draw_parts(test_case, seed);
    for (const std::uint8_t part : parts) ++drawn.at(part);
    const auto n = static_cast<double>(parts.size());
    for (std::size_t p = 0; p < shares.size(); ++p)  // 4 standard deviations of a binomial one
      EXPECT_NEAR(drawn[p], n * shares[p], 4 * std::sqrt(n * shares[p] * (1 - shares[p]))) << p;
  }
}

TEST(Mix, OfOneSeedIsDrawnOnceAndOfAnotherAnew) {
  const TestCase test_case = mix_case(0.5, 1000, 1);
  EXPECT_EQ(draw_parts(test_case, 1), draw_parts(test_case, 1));
  EXPECT_NE(draw_parts(test_case, 1), draw_parts(test_case, 2));
}

struct MixRun : VirtualRun {
  explicit MixRun(const TestCase& new_case) : VirtualRun(new_case) {
    server.part_service_ns.assign(kPartService_ns.begin(), kPartService_ns.end());
  }
};

/// What waits is what waited, and the service before, less the time until the next one came.
double lindley_mean_ns(const VirtualRun& load) {
  const auto drawn = draw_parts(load.test_case, 1);
  std::uint64_t wait_ns = 0, sum_ns = kPartService_ns[drawn[0]];
  for (std::size_t i = 1; i < drawn.size(); ++i) {
    const std::uint64_t ahead_ns = wait_ns + kPartService_ns[drawn[i - 1]];
    wait_ns = ahead_ns > load.gaps_ns[i] ? ahead_ns - load.gaps_ns[i] : 0;
    sum_ns += wait_ns + kPartService_ns[drawn[i]];
  }
  return static_cast<double>(sum_ns) / static_cast<double>(drawn.size());
}

class MixLoad : public ::testing::TestWithParam<double> {};

TEST_P(MixLoad, GivesTheResponsesOfLindleysRecursionWhereverRequestsWait) {
  for (const std::uint64_t depth : {1, 8, 4096})
    for (const std::uint64_t qps : {1, 3}) {
      TestCase test_case = mix_case(GetParam(), 100'000, depth);
      test_case.qps = qps;
      MixRun load{test_case};
      ASSERT_EQ(load.run().why, LoopResult::Why::done);
      const double expected = lindley_mean_ns(load);
      EXPECT_NEAR(load.mean_ns(), expected, 0.001 * expected) << depth << " x " << qps;
    }
}

/// M/G/1: Pollaczek and Khinchine.
TEST_P(MixLoad, GivesTheMeanResponseOfMG1OverAMillionRequests) {
  const double rho = GetParam();
  double mean = 0, square = 0;
  for (std::size_t p = 0; p < kShare.size(); ++p) {
    const auto service = static_cast<double>(kPartService_ns[p]);
    mean += kShare[p] * service;
    square += kShare[p] * service * service;
  }
  MixRun load{mix_case(rho, 1'000'000, 1)};
  ASSERT_EQ(load.run().why, LoopResult::Why::done);
  const double expected_ns = mean + rho / mean * square / (2 * (1 - rho));
  EXPECT_NEAR(load.mean_ns(), expected_ns, 0.04 * expected_ns);
}

INSTANTIATE_TEST_SUITE_P(OpenLoop, MixLoad, ::testing::Values(0.5, 0.8, 0.9));

TEST(Mix, EachPartHasItsOwnServicesAndTogetherTheyAreAll) {
  TestCase test_case = mix_case(0.5, 10'000, 1);
  test_case.warmup = 1000;
  MixRun load{test_case};
  ASSERT_EQ(load.run().why, LoopResult::Why::done);
  const LoadData data = load.offered.result();
  ASSERT_EQ(data.mix.size(), 2U);
  std::uint64_t due = 0, completed = 0, response_ns = 0, lateness_ns = 0;
  double offered = 0, reached = 0;
  for (std::size_t p = 0; p < 2; ++p) {
    const LoadPart& part = data.mix[p];
    EXPECT_EQ(part.service.histogram.min_ns, kPartService_ns[p]);
    EXPECT_EQ(part.service.histogram.max_ns, kPartService_ns[p]);
    EXPECT_EQ(part.due, part.completed);
    EXPECT_EQ(part.response.histogram.count, part.completed);
    due += part.due;
    completed += part.completed;
    response_ns += part.response.histogram.sum_ns;
    lateness_ns += part.lateness.histogram.sum_ns;
    offered += part.offered_per_s;
    reached += part.reached_per_s;
  }
  EXPECT_EQ(data.mix[0].operation, "read");
  EXPECT_EQ(data.mix[1].operation, "write");
  EXPECT_EQ(due, data.due);
  EXPECT_EQ(completed, data.completed);
  EXPECT_EQ(response_ns, load.response->sum_ns());
  EXPECT_EQ(lateness_ns, data.lateness.histogram.sum_ns);
  EXPECT_NEAR(offered, 1e9 * 10'000 / static_cast<double>(data.window_ns), 1e-6 * offered);
  EXPECT_NEAR(reached, 1e9 * 10'000 / static_cast<double>(data.completing_ns), 1e-6 * reached);
}

TEST(Mix, IsReadAsPeopleTypeItAndWrittenInOneSpelling) {
  const auto parts = parse_mix("read:4K:50,read:64:20+write:30");
  ASSERT_TRUE(parts);
  EXPECT_EQ(*parts, (std::vector<MixPart>{{Opcode::rdma_read, 4096, 50},
                                          {Opcode::rdma_read, 64, 20},
                                          {Opcode::rdma_write, 0, 30}}));
  EXPECT_EQ(mix_text(*parts), "read:4096:50+read:64:20+write:30");
  for (const char* text :
       {"", "read", "read:", "read:0", "read:0:5", "erase:5", "read:5,", ",read:5", "read:5,read:6",
        "read:1:2:3", "read:-1", "read:1000001", "read:4G:1"})
    EXPECT_FALSE(parse_mix(text)) << text;
}

}  // namespace
}  // namespace rdmameter
