// SPDX-License-Identifier: Apache-2.0
#include "topologies/rank_result.h"

#include <gtest/gtest.h>

#include <memory>

#include "core/error.h"

namespace rdmameter {
namespace {

HistogramData samples(std::initializer_list<std::uint64_t> values) {
  const auto histogram = std::make_unique<Histogram>();
  for (const std::uint64_t value : values) histogram->record(value);
  return snapshot(*histogram);
}

Case pairs_of_two() {
  Case made = default_topology_case();
  made.graph = "ring";
  made.traffic = "pairs";
  made.ranks = 2;
  return made;
}

RankResult result_with(double median, HistogramData histogram) {
  RankResult made;
  made.matrix_row_ns = {0, 0};
  made.by_hops[1] = std::move(histogram);
  made.setup_ns = {{"resources", 10}, {"connect", 20}};
  made.memory_bytes = {{"buffers", static_cast<std::uint64_t>(median)}};
  made.kernel = {{"qps", made.memory_bytes[0].second + 2}};
  made.qps = 1;
  made.barrier_qps = 1;
  made.operations = 2;
  return made;
}

TEST(RankResult, ComesBackFromTheWireAsItWas) {
  RankResult sent = result_with(3, samples({1, 5, 1ULL << 40, 1ULL << 45}));
  sent.exchanges = samples({7});
  sent.barrier = samples({9, 9});
  sent.sending_ns = 4;
  sent.yielding = true;
  const RankResult got = rank_result_from_wire(rank_result_to_wire(sent));
  EXPECT_EQ(got.by_hops, sent.by_hops);
  EXPECT_EQ(got.exchanges, sent.exchanges);
  EXPECT_EQ(got.barrier, sent.barrier);
  EXPECT_EQ(got.setup_ns, sent.setup_ns);
  EXPECT_EQ(got.kernel, sent.kernel);
  EXPECT_EQ(got.matrix_row_ns, sent.matrix_row_ns);
  EXPECT_EQ(got.sending_ns, 4u);
  EXPECT_TRUE(got.yielding);
}

TEST(RankResult, AFailureIsAllThatIsSaid) {
  RankResult failed;
  failed.failure = "no \xff luck";
  EXPECT_NE(rank_result_from_wire(rank_result_to_wire(failed)).failure.find("luck"),
            std::string::npos);
}

TEST(RankResult, WhatIsNoResultIsRefused) {
  for (const char* text : {"", "{}", "[]", "{\"setup_ns\": 1}"})
    EXPECT_THROW(rank_result_from_wire(text), MeasurementError) << text;
}

TEST(RankResult, HistogramsOfRanksAddUpExactly) {
  const Case one_case = pairs_of_two();
  std::vector<RankResult> results{result_with(3, samples({10, 20})),
                                  result_with(5, samples({20, 4000}))};
  results[0].matrix_row_ns[1] = 15;
  results[1].setup_ns[1].second = 50;
  const Outcome outcome = merge_results(one_case, plan_topology(one_case), results);
  EXPECT_EQ(outcome.topology->latency, samples({10, 20, 20, 4000}));
  ASSERT_EQ(outcome.topology->by_hops.size(), 1u);
  EXPECT_EQ(outcome.topology->by_hops[0].second, outcome.topology->latency);
  EXPECT_EQ(outcome.topology->matrix_ns[0][1], 15);
  EXPECT_EQ(outcome.topology->matrix_ns[1][0], std::nullopt);
  EXPECT_EQ(outcome.topology->setup_ns, (Amounts{{"resources", 10}, {"connect", 50}}));
  EXPECT_EQ(outcome.topology->memory_bytes, (Amounts{{"buffers", 5}}));
  EXPECT_EQ(outcome.topology->kernel, (Amounts{{"qps", 7}}));  // of the rank with most, as well
  EXPECT_EQ(outcome.operations, 4u);
}

TEST(Jain, IsOneForEqualsAndOneNthForOne) {
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{3, 3, 3}), 1);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{3, 0, 0, 0}), 0.25);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{}), 1);
  EXPECT_DOUBLE_EQ(jain_index(std::vector<double>{1, 2, 3}), 36.0 / 42.0);
}

}  // namespace
}  // namespace rdmameter
