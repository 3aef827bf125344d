// SPDX-License-Identifier: Apache-2.0
// What small clusters measured tells what one of 16384 ranks does: both simulated, by events.
#include <gtest/gtest.h>

#include "reports/topology/model/model.h"
#include "tests/reports/topology/model/noisy_costs.h"
#include "tests/reports/topology/model/simulated_cluster.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kMany = 16384;

const TopologyModel& small_clusters() {
  static const TopologyModel model = [] {
    std::vector<Row> rows;
    for (const std::uint64_t ranks : {4, 8, 16, 32})
      for (const std::uint64_t size : {8, 4096, 65536})
        for (const char* graph : {"mesh", "ring", "hypercube"})
          for (std::uint64_t repetition = 0; repetition < 3; ++repetition)
            rows.push_back(simulate_pairs({}, graph, ranks, size, repetition, 3));
    return topology_models(rows).front();
  }();
  return model;
}

TEST(SimulatedCluster, ItsCostsAreFoundWithinTwoPercent) {
  const SimulatedCosts truth;
  const Costs& costs = small_clusters().latency->costs();
  EXPECT_NEAR(costs.alpha_ns / truth.alpha_ns(), 1, 0.02);
  EXPECT_NEAR(costs.per_hop_ns / truth.per_hop_ns(), 1, 0.02);
  EXPECT_NEAR(costs.beta_ns_per_byte / truth.byte_ns, 1, 0.02);
}

TEST(SimulatedCluster, LatencyOf16384RanksIsPredictedFrom32) {
  for (const char* graph : {"mesh", "ring", "hypercube"}) {
    const auto predicted = predict(small_clusters(), {graph}, kMany);
    const Row row = simulate_pairs({}, graph, kMany, 4096, 0, 1);
    // The pairs that were drawn have hops of their own: the model is held to those.
    double hops = 0, samples = 0, sum_ns = 0;
    for (const auto& [distance, latency] : row.topology->by_hops) {
      const HistogramData& data = latency.histogram;
      hops += static_cast<double>(distance * data.count);
      samples += static_cast<double>(data.count);
      sum_ns += static_cast<double>(data.sum_ns) / 2;
    }
    const double expected = time_ns(small_clusters().latency->costs(), hops / samples, 4096);
    EXPECT_NEAR(sum_ns / samples / expected, 1, 0.03) << graph;
    ASSERT_TRUE(predicted);
    EXPECT_NEAR(*predicted->sizes[1].all.mean_ns / expected,
                predicted->figures.hops_mean / (hops / samples), 0.1)
        << graph;
    EXPECT_LT(*small_clusters().latency->error_at_max_ranks(graph), 0.05) << graph;
  }
}

}  // namespace
}  // namespace rdmameter
