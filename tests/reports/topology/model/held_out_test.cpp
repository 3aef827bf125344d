// SPDX-License-Identifier: Apache-2.0
// 16 ranks are predicted from 2, 4 and 8, all of them simulated, with noise on what those
// "measure".
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "reports/topology/model/model.h"
#include "tests/reports/topology/model/noisy_costs.h"
#include "topologies/axes/rank_axes.h"
#include "topologies/simulator/simulator.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kHeldOut = 16, kRepetitions = 3;
constexpr int kSeeds = 100, kMin = 90;
constexpr double kNoise = 0.05;
constexpr std::array<std::uint64_t, 2> kSizes{8, 4096};

Row simulated_row(const std::string& graph, std::uint64_t ranks, std::uint64_t size_bytes) {
  TestCase test_case = default_topology_case();
  test_case.graph = graph;
  test_case.ranks = ranks;
  test_case.size_bytes = size_bytes;
  test_case.iterations = 2;
  test_case.warmup = 0;
  constexpr std::uint64_t kUs = 1'000'000;  // [ps]
  const StopFlag go_on;
  Row row;
  static_cast<Measurement&>(row) = simulate(
      test_case, {.paths = {{{.delay_ps = 2 * kUs, .relay_delay_ps = 3 * kUs, .ps_per_byte = 80}}}},
      go_on);
  row.case_object = {{"graph", graph},         {"traffic", "pairs"},
                     {"ranks", ranks},         {"size_bytes", size_bytes},
                     {"transport", "rc"},      {"depth", std::uint64_t{16}},
                     {"cq_sharing", "shared"}, {"qps_per_edge", std::uint64_t{1}}};
  return row;
}

/// By graph, ranks and size; each is simulated once.
std::vector<Row> rows_of(std::initializer_list<std::uint64_t> ranks) {
  std::vector<Row> rows;
  for (const char* graph : {"mesh", "ring", "hypercube"})
    for (const std::uint64_t n : ranks)
      for (const std::uint64_t size : kSizes) rows.push_back(simulated_row(graph, n, size));
  return rows;
}

const std::vector<Row>& measured_rows() {
  static const std::vector<Row> rows = rows_of({2, 4, 8});
  return rows;
}
const std::vector<Row>& held_out_rows() {
  static const std::vector<Row> rows = rows_of({kHeldOut});
  return rows;
}

/// Noise of the whole row, and of each number of hops.
struct Noise {
  double of_row, of_hops;
};

Row with_noise(Row row, const Noise& noise, std::mt19937& engine) {
  const double luck = noise.of_row * normal(engine);
  for (auto& [hops, latency] : row.topology->by_hops) {
    const double factor = std::exp(luck + noise.of_hops * normal(engine));
    const auto histogram = std::make_unique<Histogram>();
    for (std::uint64_t i = 0; i < latency.histogram.count; ++i)
      histogram->record(static_cast<std::uint64_t>(
          factor * static_cast<double>(percentile(latency.histogram, 50))));
    latency.histogram = snapshot(*histogram);
  }
  return row;
}

TopologyModel model_with(const Noise& noise, std::mt19937& engine) {
  std::vector<Row> rows;
  for (const Row& row : measured_rows())
    for (std::uint64_t i = 0; i < kRepetitions; ++i) rows.push_back(with_noise(row, noise, engine));
  return topology_models(rows).front();
}

struct Tally {
  int inside = 0;
  double widest = 0;
  void add(const std::optional<Interval>& interval, double measured) {
    ASSERT_TRUE(interval);
    inside += interval->low <= measured && measured <= interval->high;
    widest = std::max(widest, interval->high / interval->low);
  }
};

Interval counted(const Noise& noise) {
  int least = kSeeds;
  double widest = 0;
  std::map<std::pair<std::string, std::uint64_t>, Tally> mean;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    std::mt19937 engine(static_cast<std::uint32_t>(seed));
    const TopologyModel model = model_with(noise, engine);
    for (const Row& row : held_out_rows()) {
      const Row measured = with_noise(row, noise, engine);
      const std::string& graph = row.topology->graph;
      const auto size = row.case_object["size_bytes"].get<std::uint64_t>();
      const auto predicted = predict(model, {graph}, kHeldOut);
      const auto& at = predicted->sizes[size == kSizes[0] ? 0 : 1];
      mean[{graph, size}].add(at.all.mean_interval_ns, *mean_latency_ns(measured));
    }
  }
  for (const auto& [of, tally] : mean) {
    EXPECT_GE(tally.inside, kMin) << of.first << " " << of.second;
    EXPECT_LE(tally.widest, 2) << of.first << " " << of.second;
    least = std::min(least, tally.inside);
    widest = std::max(widest, tally.widest);
  }
  return {static_cast<double>(least), widest};
}

TEST(HeldOutRanks, LatencyIsInsideTheIntervalIfEachNumberOfHopsHasItsNoise) {
  const auto [least, widest] = counted({.of_row = 0, .of_hops = kNoise});
  RecordProperty("inside", std::to_string(least));
  RecordProperty("widest", std::to_string(widest));
}

TEST(HeldOutRanks, LatencyIsInsideTheIntervalIfWholeRowsHaveTheirNoise) {
  const auto [least, widest] = counted({.of_row = kNoise, .of_hops = 0});
  RecordProperty("inside", std::to_string(least));
  RecordProperty("widest", std::to_string(widest));
}

TEST(HeldOutRanks, QpsHopsAndMemoryAreExact) {
  const TopologyModel model = topology_models(measured_rows()).front();
  EXPECT_TRUE(model.knows_memory);
  for (const Row& row : held_out_rows()) {
    const TopologyData& topology = *row.topology;
    const auto predicted = predict(model, {topology.graph}, kHeldOut);
    ASSERT_TRUE(predicted) << topology.graph;
    EXPECT_EQ(predicted->qps_per_rank, topology.qps_per_rank.front());
    EXPECT_EQ(predicted->qps_total, *topology.qps_total);
    EXPECT_EQ(predicted->figures.hops_max, topology.hops->max);
    EXPECT_NEAR(predicted->figures.hops_mean, topology.hops->mean, 1e-12);
    double bytes = 0;
    for (const auto& [kind, amount] : topology.connection_bytes) bytes += real(amount);
    const std::uint64_t size = row.case_object["size_bytes"];
    EXPECT_EQ(*predicted->sizes[size == kSizes[0] ? 0 : 1].memory_bytes, bytes)
        << topology.graph << " " << size;
  }
}

TEST(HeldOutRanks, MemoryIsNotPredictedIfTheClosedFormIsNotThatOfTheRows) {
  std::vector<Row> rows = measured_rows();
  rows.back().topology->connection_bytes.front().second += 64;
  const TopologyModel model = topology_models(rows).front();
  EXPECT_FALSE(model.knows_memory);
  EXPECT_FALSE(predict(model, {"ring"}, kHeldOut)->sizes[0].memory_bytes);
}

TEST(HeldOutRanks, AFitToAsManyRowsAsItHasCostsHasNoInterval) {
  const std::vector<Row> rows{measured_rows()[0], measured_rows()[1]};  // mesh, two sizes
  const auto predicted = predict(topology_models(rows).front(), {"mesh"}, kHeldOut);
  EXPECT_TRUE(predicted->sizes[0].all.mean_ns);
  EXPECT_FALSE(predicted->sizes[0].all.mean_interval_ns);
}

}  // namespace
}  // namespace rdmameter
