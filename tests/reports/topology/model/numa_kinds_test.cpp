// SPDX-License-Identifier: Apache-2.0
// Hosts whose ranks are on several NUMA nodes: what a message costs within a node, between nodes
// and between hosts is found and predicted by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "reports/topology/model/model.h"
#include "reports/topology/model/path_costs.h"
#include "reports/topology/model_text.h"
#include "tests/reports/golden.h"
#include "tests/reports/topology/model/held_out_kinds.h"
#include "tests/reports/topology/model/placed_rows.h"

namespace rdmameter {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct KindCosts {
  PairKind kind;
  Costs costs;
};
const std::array kKindCosts{KindCosts{PairKind::other_host, kBetweenHosts},
                            KindCosts{PairKind::other_node, kBetweenNodes},
                            KindCosts{PairKind::same_node, kWithinHost}};

/// Of ranks that share nothing that is not known.
PairKind kind_by_walk(const RankPlace& a, const RankPlace& b) {
  if (a.host != b.host) return PairKind::other_host;
  return a.numa_node == b.numa_node ? PairKind::same_node : PairKind::other_node;
}

struct NumaPlan {
  std::vector<const char*> graphs{"mesh", "ring", "hypercube"};
  std::vector<Rank> ranks{4, 8, 16};
  std::vector<std::uint64_t> sizes{8, 65536};
  Rank per_host = 8;
  bool in_turn = false;
  double noise = 0;
  int repetitions = 1;
};

std::vector<Row> numa_rows(const NumaPlan& plan, std::uint32_t seed = 1) {
  std::mt19937 engine(seed);
  std::vector<Row> rows;
  for (const char* graph : plan.graphs)
    for (const Rank ranks : plan.ranks)
      for (const std::uint64_t size : plan.sizes)
        for (int i = 0; i < plan.repetitions; ++i)
          rows.push_back(placed_row(graph, placed_on_nodes(ranks, plan.per_host, plan.in_turn),
                                    size, plan.noise, engine));
  return rows;
}

nlohmann::ordered_json numa_context(const NumaPlan& plan) {
  return context_of(placed(plan.ranks.back(), plan.per_host));
}

TopologyModel numa_model(const NumaPlan& plan, std::uint32_t seed = 1) {
  return topology_models(numa_rows(plan, seed), numa_context(plan)).front();
}

nlohmann::ordered_json& nodes_in(Row& row) {
  return row.extra["placement"]["ranks"]["numa_nodes"];
}

TEST(NumaKinds, EachHasItsCosts) {
  for (const bool in_turn : {false, true}) {
    const TopologyModel model = numa_model({.in_turn = in_turn});
    ASSERT_TRUE(model.latency->by_kind());
    for (const auto& [kind, costs] : kKindCosts)
      EXPECT_TRUE(has_costs(*model.latency, kind, costs, 1e-6)) << static_cast<int>(kind);
    EXPECT_LT(model.latency->spread(), 1e-6);
    EXPECT_FALSE(model.kinds[PairKind::same_host]);
  }
}

TEST(NumaKinds, NoiseChangesTheCostsLittle) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    const TopologyModel model = numa_model({.noise = 0.02, .repetitions = 5}, seed);
    for (const auto& [kind, costs] : kKindCosts)
      EXPECT_TRUE(has_costs(*model.latency, kind, costs, 0.05)) << static_cast<int>(kind);
  }
}

TEST(NumaKinds, OfOneHostTheCostsBetweenHostsAreNotIdentified) {
  const TopologyModel model = numa_model({.ranks = {4, 8}});
  EXPECT_TRUE(has_costs(*model.latency, PairKind::same_node, kWithinHost, 1e-6));
  EXPECT_TRUE(has_costs(*model.latency, PairKind::other_node, kBetweenNodes, 1e-6));
  const std::string text = model_text(model, {}, {.width = 200});
  EXPECT_THAT(text, HasSubstr("same NUMA node: alpha                  1.00 µs"));
  EXPECT_THAT(text, HasSubstr("other NUMA node: alpha                 1.60 µs"));
  EXPECT_THAT(text, HasSubstr("All ranks were on one host: the costs between hosts"));
  EXPECT_THAT(text, Not(HasSubstr("other host:")));
}

TEST(NumaKinds, WhatPairsDoNotTellIsNotIdentified) {
  const std::string text =
      model_text(numa_model({.graphs = {"mesh"}, .sizes = {8}}), {}, {.width = 200});
  for (const char* name : {"same NUMA node", "other NUMA node", "other host"}) {
    EXPECT_THAT(text, HasSubstr(std::string(name) + ": each hop more"));
    EXPECT_THAT(text, HasSubstr(std::string(name) + ": beta"));
  }
  EXPECT_THAT(text, HasSubstr("other NUMA node: each hop more  not identified"));
  EXPECT_THAT(text, HasSubstr("on several NUMA nodes: each edge of a route has the costs of its"));
}

/// What is written of rows where no two ranks of a host are known to be on different nodes.
TEST(NumaKinds, NothingChangesIfEachHostHasOneNodeOrNoneIsKnown) {
  std::vector<Row> rows = numa_rows({});
  const auto text = [&] {
    const TopologyModel model = topology_models(rows, numa_context({})).front();
    return model_text(model, {16, 64, 1000}, {.width = 200});
  };
  const auto set_nodes = [&](auto node_of_rank) {
    for (Row& row : rows)
      for (std::size_t rank = 0; rank < nodes_in(row).size(); ++rank)
        nodes_in(row)[rank] = node_of_rank(rank);
  };
  const std::string with_nodes = text();
  for (Row& row : rows) row.extra.erase("placement");
  const std::string without = text();
  EXPECT_NE(without, with_nodes);
  EXPECT_THAT(without, HasSubstr("same host: alpha"));
  rows = numa_rows({});
  set_nodes([](std::size_t rank) { return rank / 8; });
  EXPECT_EQ(text(), without);
  set_nodes([](std::size_t) { return nullptr; });
  EXPECT_EQ(text(), without);
  set_nodes([](std::size_t rank) { return rank % 2 == 0 ? nlohmann::json(1U) : nullptr; });
  EXPECT_EQ(text(), without) << "those that are known do not differ";
  for (const auto& hostile :
       {nlohmann::ordered_json("0"), nlohmann::ordered_json::array({0, 1}),
        nlohmann::ordered_json(std::vector<double>(16, -0.5)), nlohmann::ordered_json::object()}) {
    for (Row& row : rows) nodes_in(row) = hostile;
    EXPECT_EQ(text(), without) << hostile.dump();
  }
  for (Row& row : rows) row.extra["placement"]["ranks"] = 3;
  EXPECT_EQ(text(), without);
}

TEST(NumaKinds, PairsOfARankWhoseNodeIsNotKnownAreOfAKindOfTheirOwn) {
  std::vector<Row> rows = numa_rows({});
  for (Row& row : rows) nodes_in(row)[1] = nullptr;
  const TopologyModel model = topology_models(rows, numa_context({})).front();
  for (const auto& [kind, costs] : kKindCosts)
    EXPECT_TRUE(has_costs(*model.latency, kind, costs, 0.1)) << static_cast<int>(kind);
  EXPECT_TRUE(model.kinds[PairKind::same_host]);
  EXPECT_GT(*model.latency->costs_of(PairKind::same_host).alpha_ns, kWithinHost.alpha_ns);
  const std::string text = model_text(model, {}, {.width = 200});
  EXPECT_THAT(text, HasSubstr("same host: alpha"));
  EXPECT_THAT(text, HasSubstr("it is not known whether they share a NUMA node"));
}

TEST(NumaKinds, ARankThatMovedHasNoNodeUnlessItWasPinned) {
  std::vector<Row> rows = numa_rows({.graphs = {"mesh"}, .ranks = {8}});
  const auto model = [&] { return topology_models(rows, numa_context({})).front(); };
  nodes_in(rows[0])[2] = 1U;
  EXPECT_FALSE(model().kinds[PairKind::same_host]) << "pinned";
  for (Row& row : rows) row.extra["placement"]["ranks"]["pinned"] = 7;
  EXPECT_TRUE(model().kinds[PairKind::same_host]);
  EXPECT_TRUE(model().kinds[PairKind::other_node]) << "the others did not move";
  nodes_in(rows[0])[2] = 0U;
  EXPECT_FALSE(model().kinds[PairKind::same_host]) << "nor did this one";
}

TEST(NumaKinds, SharesAndRoutesAreThoseOfMoreHostsPlacedAlike) {
  for (const bool in_turn : {false, true})
    for (const char* graph : {"mesh", "ring", "hypercube"}) {
      const TopologyModel model = numa_model({.in_turn = in_turn});
      constexpr Rank kRanks = 64;
      const RankPlaces places = placed_on_nodes(kRanks, 8, in_turn);
      const Matrix times = times_between(graph, places, 8);
      ByKind<double> sums{}, counts{};
      for (Rank from = 0; from < kRanks; ++from)
        for (Rank to = 0; to < kRanks; ++to)
          if (from != to) {
            sums[kind_by_walk(places[from], places[to])] += *times[from][to];
            ++counts[kind_by_walk(places[from], places[to])];
          }
      const auto predicted = predict(model, {graph}, kRanks);
      ASSERT_TRUE(predicted->pairs);
      EXPECT_EQ((*predicted->pairs)[PairKind::same_host].share, 0);
      double mean_ns = 0;
      for (const auto& [kind, costs] : kKindCosts) {
        EXPECT_NEAR(*(*predicted->pairs)[kind].share, counts[kind] / (kRanks * (kRanks - 1.0)),
                    1e-9);
        EXPECT_NEAR(*predicted->sizes[0].of_kind[kind].mean_ns / (sums[kind] / counts[kind]), 1,
                    0.01)
            << graph << " " << static_cast<int>(kind);
        mean_ns += sums[kind] / (kRanks * (kRanks - 1.0));
      }
      EXPECT_NEAR(*predicted->sizes[0].all.mean_ns / mean_ns, 1, 0.01);
    }
}

TEST(NumaKinds, MoreRanksOfASingleHostAreOnItsNodes) {
  for (const bool in_turn : {false, true}) {
    const auto predicted = predict(numa_model({.ranks = {4, 8}, .in_turn = in_turn}), {"mesh"}, 32);
    EXPECT_NEAR(*(*predicted->pairs)[PairKind::same_node].share, 15 / 31.0, 1e-9);
    EXPECT_NEAR(*(*predicted->pairs)[PairKind::other_node].share, 16 / 31.0, 1e-9);
  }
  const auto ring = predict(numa_model({.ranks = {4, 8}}), {"ring"}, 32);
  EXPECT_NEAR((*ring->pairs)[PairKind::other_node].mean.hops[PairKind::other_node], 1, 1e-9)
      << "a route between two halves of a ring has one edge between them";
}

TEST(NumaKinds, WhereRanksWouldBeIsNotKnownOfNodesWithoutOrder) {
  std::mt19937 engine(1);
  RankPlaces places = placed(8, 4);
  for (const Rank rank : {1U, 2U, 4U}) places[rank].numa_node = 1;
  for (const Rank rank : {0U, 3U, 5U, 6U, 7U}) places[rank].numa_node = 0;
  std::vector<Row> rows;
  for (const char* graph : {"mesh", "ring"})
    rows.push_back(placed_row(graph, places, 8, 0, engine));
  const TopologyModel model = topology_models(rows, context_of(places)).front();
  const auto mesh = predict(model, {"mesh"}, 64), ring = predict(model, {"ring"}, 64);
  EXPECT_NEAR(*mesh->sizes[0].of_kind[PairKind::other_node].mean_ns, kBetweenNodes.time_ns(1, 8),
              1);
  EXPECT_FALSE((*mesh->pairs)[PairKind::other_node].share);
  EXPECT_FALSE(ring->pairs);
  const std::string text = model_text(model, {64}, {.width = 400});
  EXPECT_THAT(text, HasSubstr("not known where more ranks would be"));
  EXPECT_THAT(text, Not(HasSubstr(" same host "))) << "there are no such pairs";
}

TEST(NumaKinds, LinesOfPredictionsSayWhichPairs) {
  const TopologyModel model = numa_model({.graphs = {"mesh"}, .noise = 0.02});
  std::string unknown;
  const std::vector<std::uint64_t> ranks{32};
  const Table table = prediction_table(model, ranks, unknown);
  ASSERT_EQ(table.lines(), 6U);
  const auto cell = [&](std::size_t column, std::size_t line) {
    return table.columns[column].cells[line].text;
  };
  EXPECT_EQ(cell(3, 0), "same NUMA node");
  EXPECT_EQ(cell(4, 0), "9.68");
  EXPECT_EQ(cell(3, 1), "other NUMA node");
  EXPECT_EQ(cell(4, 1), "12.9");
  EXPECT_EQ(cell(3, 2), "other host");
  EXPECT_EQ(cell(4, 2), "77.4");
  EXPECT_THAT(prediction_remark(model),
              HasSubstr("hosts of 8 ranks each, placed one after the other as they were measured, "
                        "on their NUMA nodes, too. same NUMA node, other NUMA node, other host: "
                        "pairs of ranks; a route between two of them may have edges of several"));
}

TEST(NumaKinds, SimulatedRowsHaveTheNodesOfTheirNetwork) {
  std::vector<Row> rows = numa_rows({.graphs = {"mesh"}, .ranks = {16}, .in_turn = true});
  for (Row& row : rows) {
    row.extra = {{"path", "simulated"}};
    row.case_object["device"] = "simulated:delay:5us,ranks-per-host:8,numa-in-turn:2";
  }
  const TopologyModel in_turn = topology_models(rows).front();
  EXPECT_NEAR(*in_turn.latency->costs_of(PairKind::other_node).alpha_ns, kBetweenNodes.alpha_ns, 1);
  rows = numa_rows({.graphs = {"mesh"}, .ranks = {16}});
  for (Row& row : rows) {
    row.extra = {{"path", "simulated"}};
    row.case_object["device"] = "simulated:delay:5us,ranks-per-numa:4,ranks-per-host:8";
  }
  const TopologyModel in_blocks = topology_models(rows).front();
  EXPECT_NEAR(*in_blocks.latency->costs_of(PairKind::other_node).alpha_ns, kBetweenNodes.alpha_ns,
              1);
}

TEST(NumaKinds, HeldOutRanksAreInsideTheIntervalOfTheirKind) {
  constexpr Rank kPerHost = 4;
  const std::vector<std::uint64_t> sizes{8, 4096};
  expect_held_out_in_intervals(
      [&](std::uint32_t seed) {
        return numa_model({.ranks = {2, 4, 8},
                           .sizes = sizes,
                           .per_host = kPerHost,
                           .noise = kHeldOutNoise,
                           .repetitions = 3},
                          seed);
      },
      placed_on_nodes(16, kPerHost), sizes, kind_by_walk);
}

ResultFile numa_file(const NumaPlan& plan) {
  return {.path = "t.json", .context = numa_context(plan), .rows = numa_rows(plan)};
}

TEST(NumaKinds, OfPathsHaveCostsOfTheirOwn) {
  const PathCosts costs = fit_path_costs(numa_file({.graphs = {"mesh", "ring"}, .ranks = {16}}));
  for (const auto& [kind, truth] : kKindCosts) {
    const PathCost& cost = costs.of_kind[kind];
    ASSERT_TRUE(cost.delay_ns && cost.relay_delay_ns && cost.ns_per_byte);
    EXPECT_NEAR(*cost.delay_ns / truth.alpha_ns, 1, 1e-6);
    EXPECT_NEAR(*cost.relay_delay_ns / truth.per_hop_ns, 1, 1e-6);
    EXPECT_NEAR(*cost.ns_per_byte / truth.beta_ns_per_byte, 1, 1e-6);
  }
  EXPECT_EQ(costs.ranks_per_host, 8U);
  EXPECT_EQ(costs.numa->ranks_per_node, 4U);
  EXPECT_EQ(costs.nearest(), PairKind::same_node);
}

TEST(NumaKinds, OfPathsKnowRanksThatAreOnNodesInTurn) {
  const PathCosts costs = fit_path_costs(numa_file({.ranks = {16}, .in_turn = true}));
  EXPECT_EQ(costs.numa->nodes_in_turn, 2U);
  EXPECT_EQ(costs.numa->ranks_per_node, 0U);
  EXPECT_FALSE(costs.numa_without_order);
}

TEST(NumaKinds, OfPathsAreThoseOfHostsWhereRanksAreOnNodesWithoutOrder) {
  ResultFile file = numa_file({.graphs = {"mesh"}, .ranks = {16}});
  for (Row& row : file.rows) nodes_in(row)[0] = nullptr;
  const PathCosts costs = fit_path_costs(file);
  EXPECT_FALSE(costs.numa);
  EXPECT_TRUE(costs.numa_without_order);
  EXPECT_EQ(costs.nearest(), PairKind::same_host);
  EXPECT_TRUE(costs.of_kind[PairKind::same_host].delay_ns);
  EXPECT_FALSE(costs.of_kind[PairKind::other_node].delay_ns);
  for (Row& row : file.rows) row.extra.erase("placement");
  EXPECT_FALSE(fit_path_costs(file).numa_without_order);
}

}  // namespace
}  // namespace rdmameter
