// SPDX-License-Identifier: Apache-2.0
// Costs of two kinds of path that are known are found again, each by itself.
#include "reports/topology/model/path_costs.h"

#include <gtest/gtest.h>

#include <random>

#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

struct Truth {
  double delay_ns, relay_ns, ns_per_byte;
};
constexpr Truth kBetween{.delay_ns = 2'000, .relay_ns = 2'600, .ns_per_byte = 0.08};
constexpr Truth kWithin{.delay_ns = 400, .relay_ns = 700, .ns_per_byte = 0.02};

/// Ranks 0 to per_host - 1 are on one host, and so on.
ResultFile file_of(std::uint64_t ranks, std::uint64_t per_host) {
  ResultFile file{.path = "t.json", .context = Json::object(), .rows = {}};
  for (std::uint64_t rank = 0; rank < ranks; ++rank)
    file.context["rdmameter"]["ranks"].push_back(
        {{"rank", rank}, {"host", "node" + std::to_string(rank / per_host)}});
  return file;
}

/// @param noise  of a pair: relative, one sigma
Row true_row(const std::string& graph, Rank ranks, std::uint64_t bytes, Rank per_host,
             double noise = 0) {
  Row row;
  row.case_object = {{"transport", "rc"}, {"graph", graph}, {"size_bytes", bytes}};
  row.extra = {{"path", per_host >= ranks ? "same_device" : "network"}};
  TopologyData& topology = row.topology.emplace();
  topology.graph = graph;
  topology.traffic = "pairs";
  topology.ranks = ranks;
  topology.matrix_ns.assign(ranks, std::vector<std::optional<double>>(ranks));
  const Graph made = find_shape(graph)->make(ranks);
  std::mt19937_64 engine(bytes + ranks);
  std::vector<Tree> trees;
  for (Rank rank = 0; rank < ranks; ++rank) trees.push_back(tree_from(made, rank));
  const auto one_way_ns = [&](Rank from, Rank to) {
    double ns = 0;
    for (Rank at = from; at != to;) {
      const Rank next = trees[at].first[to];
      const Truth& truth = at / per_host == next / per_host ? kWithin : kBetween;
      ns += (at == from ? truth.delay_ns : truth.relay_ns) +
            static_cast<double>(bytes) * truth.ns_per_byte;
      at = next;
    }
    return ns;
  };
  for (Rank from = 0; from < ranks; ++from)
    for (Rank to = 0; to < ranks; ++to)
      if (from != to)
        topology.matrix_ns[from][to] = (one_way_ns(from, to) + one_way_ns(to, from)) / 2 *
                                       (1 + noise * std::normal_distribution<double>()(engine));
  return row;
}

void expect_near(const KnownCosts& cost, const Truth& truth, double error) {
  ASSERT_TRUE(cost.alpha_ns && cost.per_hop_ns && cost.beta_ns_per_byte);
  EXPECT_NEAR(*cost.alpha_ns / truth.delay_ns, 1, error);
  EXPECT_NEAR(*cost.per_hop_ns / truth.relay_ns, 1, error);
  EXPECT_NEAR(*cost.beta_ns_per_byte / truth.ns_per_byte, 1, error);
}

ResultFile two_classes(double noise) {
  ResultFile file = file_of(8, 4);
  for (const char* graph : {"mesh", "ring"})
    for (const std::uint64_t bytes : {8, 65536})
      file.rows.push_back(true_row(graph, 8, bytes, 4, noise));
  return file;
}

TEST(PathCosts, HostsAndTheNetworkDoNotShareOneDelay) {
  const PathCosts costs = fit_path_costs(two_classes(0));
  expect_near(costs.of_kind[PairKind::other_host], kBetween, 1e-6);
  expect_near(costs.of_kind[PairKind::same_host], kWithin, 1e-6);
  EXPECT_EQ(costs.ranks_per_host, 4U);
  EXPECT_EQ(costs.rows, 4U);
  EXPECT_LT(costs.spread, 1e-6);
}

TEST(PathCosts, NoiseOfAPairChangesThemLittle) {
  const PathCosts costs = fit_path_costs(two_classes(0.02));
  expect_near(costs.of_kind[PairKind::other_host], kBetween, 0.05);
  expect_near(costs.of_kind[PairKind::same_host], kWithin, 0.05);
  EXPECT_NEAR(costs.spread, 0.02, 0.01);
}

TEST(PathCosts, WhatWasNotMeasuredIsNotTold) {
  ResultFile file = file_of(4, 4);
  file.rows = {true_row("mesh", 4, 8, 4)};
  const PathCosts costs = fit_path_costs(file);
  EXPECT_TRUE(costs.of_kind[PairKind::same_host].alpha_ns);
  EXPECT_FALSE(costs.of_kind[PairKind::same_host].per_hop_ns);
  EXPECT_FALSE(costs.of_kind[PairKind::same_host].beta_ns_per_byte) << "one size";
  EXPECT_FALSE(costs.of_kind[PairKind::other_host].alpha_ns);
}

TEST(PathCosts, RowsOfRanksThatSharedCoresAndSimulatedOnesDoNotCount) {
  ResultFile file = two_classes(0);
  file.rows[0].topology->yielding = true;
  for (auto& row : file.rows[0].topology->matrix_ns)
    for (auto& cell : row)
      if (cell) cell = *cell * 50;
  file.rows.push_back(file.rows[0]);
  file.rows.back().topology->yielding = false;
  file.rows.back().extra["path"] = "simulated";
  const PathCosts costs = fit_path_costs(file);
  EXPECT_EQ(costs.rows, 3U);
  EXPECT_EQ(costs.yielding, 1U);
  expect_near(costs.of_kind[PairKind::other_host], kBetween, 1e-6);
}

TEST(PathCosts, RowsWhoseHostsAreNotKnownDoNotCount) {
  ResultFile file = two_classes(0);
  file.context["rdmameter"].erase("ranks");
  const PathCosts costs = fit_path_costs(file);
  EXPECT_EQ(costs.rows, 0U);
  EXPECT_EQ(costs.unknown_hosts, 4U);
}

TEST(PathCosts, HostsOfDifferentNumbersOfRanksHaveNoOneNumber) {
  ResultFile file = two_classes(0);
  file.context["rdmameter"]["ranks"][1]["host"] = "node1";
  EXPECT_FALSE(fit_path_costs(file).ranks_per_host);
}

TEST(PathCosts, OfNumaNodesAreThoseOfTheirHost) {
  ResultFile file = two_classes(0);
  for (Row& row : file.rows)
    row.extra["placement"] = {
        {"ranks", {{"pinned", 8}, {"numa_nodes", {0U, 0U, 1U, 1U, 0U, 0U, 1U, 1U}}}}};
  const PathCosts costs = fit_path_costs(file);
  expect_near(costs.of_kind[PairKind::same_host], kWithin, 1e-6);
  expect_near(costs.of_kind[PairKind::other_host], kBetween, 1e-6);
  EXPECT_FALSE(costs.of_kind[PairKind::other_node].alpha_ns);
}

TEST(PathCosts, HostileRowsGiveNothing) {
  ResultFile file = two_classes(0);
  for (Row& row : file.rows) row.topology->graph = "kring:18446744073709551615";
  file.rows[0].topology->graph = "dragonfly";
  EXPECT_EQ(fit_path_costs(file).rows, 0U);
}

}  // namespace
}  // namespace rdmameter
