// SPDX-License-Identifier: Apache-2.0
// Hosts with several ranks: what a message costs within a host and between hosts is found and
// predicted by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "reports/topology/model/model.h"
#include "reports/topology/model/rank_places.h"
#include "reports/topology/model_text.h"
#include "tests/reports/golden.h"
#include "tests/reports/topology/model/held_out_kinds.h"
#include "tests/reports/topology/model/noisy_costs.h"
#include "tests/reports/topology/model/placed_rows.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::size_t kOther = 0, kSame = 1;

struct Plan {
  std::vector<const char*> graphs{"mesh", "ring", "hypercube"};
  std::vector<Rank> ranks{4, 8};
  std::vector<std::uint64_t> sizes{8, 4096};
  Rank per_host = 2;
  double noise = 0;
  int repetitions = 1;
};

TopologyModel model_of_plan(const Plan& plan, std::uint32_t seed = 1) {
  std::mt19937 engine(seed);
  std::vector<Row> rows;
  for (const char* graph : plan.graphs)
    for (const Rank ranks : plan.ranks)
      for (const std::uint64_t size : plan.sizes)
        for (int i = 0; i < plan.repetitions; ++i)
          rows.push_back(placed_row(graph, placed(ranks, plan.per_host), size, plan.noise, engine));
  return topology_models(rows, context_of(placed(plan.ranks.back(), plan.per_host))).front();
}

TEST(HostKinds, EachHasItsCosts) {
  for (const Rank per_host : {2U, 4U}) {
    const TopologyModel model = model_of_plan({.ranks = {4, 8, 16}, .per_host = per_host});
    ASSERT_TRUE(model.latency->by_kind());
    EXPECT_TRUE(has_costs(*model.latency, PairKind::other_host, kBetweenHosts, 1e-6));
    EXPECT_TRUE(has_costs(*model.latency, PairKind::same_host, kWithinHost, 1e-6));
    EXPECT_LT(model.latency->spread(), 1e-6);
  }
}

TEST(HostKinds, NoiseChangesTheCostsLittle) {
  const TopologyModel model = model_of_plan({.sizes = {8, 65536}, .noise = 0.02, .repetitions = 5});
  EXPECT_TRUE(has_costs(*model.latency, PairKind::other_host, kBetweenHosts, 0.05));
  EXPECT_TRUE(has_costs(*model.latency, PairKind::same_host, kWithinHost, 0.05));
}

TEST(HostKinds, WithoutHostsAllEdgesShareOneAlphaThatIsNeither) {
  std::mt19937 engine(1);
  const std::vector<Row> rows{placed_row("mesh", placed(8, 4), 8, 0, engine)};
  const auto alpha = topology_models(rows).front().latency->costs().alpha_ns;
  EXPECT_GT(alpha, 1.1 * kWithinHost.alpha_ns);
}

TEST(HostKinds, ACostThatOnlyOneKindOfPairShowsIsOnlyThatKinds) {
  const TopologyModel model = model_of_plan({.graphs = {"mesh"}, .ranks = {8}, .per_host = 4});
  const auto other = model.latency->costs_of(PairKind::other_host);
  EXPECT_NEAR(*other.alpha_ns, kBetweenHosts.alpha_ns, 1);
  EXPECT_FALSE(other.per_hop_ns);
  EXPECT_THAT(model_text(model, {}, kPlain),
              HasSubstr("other host: each hop more  not identified"));
  EXPECT_FALSE(model.latency->error_at_max_ranks("mesh", kOther)) << "one number of ranks";
}

TEST(HostKinds, WhatIsToldOnlyTogetherIsNotIdentified) {
  // The only route with a relay has an edge of each kind.
  const TopologyModel model = model_of_plan({.graphs = {"star"}, .ranks = {3}, .sizes = {8}});
  for (const PairKind kind : {PairKind::same_host, PairKind::other_host}) {
    EXPECT_TRUE(model.latency->costs_of(kind).alpha_ns);
    EXPECT_FALSE(model.latency->costs_of(kind).per_hop_ns);
    EXPECT_FALSE(model.latency->costs_of(kind).beta_ns_per_byte);
  }
  EXPECT_TRUE(predict(model, {"star"}, 3)->sizes[0].all.mean_ns);
  EXPECT_FALSE(predict(model, {"star"}, 16)->sizes[0].of_kind[kOther].mean_ns);
}

TEST(HostKinds, OfOneKindTheOtherIsNotIdentified) {
  const TopologyModel one_host = model_of_plan({.per_host = 8});
  EXPECT_FALSE(one_host.latency->by_kind());
  EXPECT_TRUE(one_host.kinds[PairKind::same_host]);
  EXPECT_THAT(model_text(one_host, {}, {.width = 200}),
              HasSubstr("All ranks were on one host: the costs between hosts are not identified"));
  const TopologyModel apart = model_of_plan({.per_host = 1});
  EXPECT_TRUE(apart.kinds[PairKind::other_host]);
  EXPECT_NEAR(apart.latency->costs().alpha_ns / kBetweenHosts.alpha_ns, 1, 0.01);
  EXPECT_THAT(model_text(apart, {}, {.width = 200}),
              HasSubstr("the costs within a host are not identified"));
}

TEST(HostKinds, TheErrorIsOfEachKind) {
  std::mt19937 engine(1);
  std::vector<Row> rows;
  for (const Rank ranks : {2, 4, 8})
    rows.push_back(placed_row("mesh", placed(ranks, 2), 8, 0, engine));
  for (Rank from = 0; from < 8; ++from)
    for (Rank to = 0; to < 8; ++to)
      if (from / 2 != to / 2) *rows.back().topology->matrix_ns[from][to] *= 1.25;
  const CostFit fit = *topology_models(rows, context_of(placed(8, 2))).front().latency;
  EXPECT_LT(fit.error_at_max_ranks("mesh", kSame).value_or(1), 1e-9);
  EXPECT_NEAR(*fit.error_at_max_ranks("mesh", kOther), 0.2, 1e-9);
  rows.erase(rows.begin() + 1);  // of two ranks, all are on one host
  const CostFit within = *topology_models(rows, context_of(placed(8, 2))).front().latency;
  EXPECT_LT(within.error_at_max_ranks("mesh", kSame).value_or(1), 1e-9);
  EXPECT_FALSE(within.error_at_max_ranks("mesh", kOther)) << "fewer ranks had one host";
}

TEST(HostKinds, SharesAndRoutesAreThoseOfMoreHostsPlacedAlike) {
  for (const char* graph : {"mesh", "ring", "hypercube"}) {
    const Rank ranks = 32, per_host = 4;
    const TopologyModel model = model_of_plan({.ranks = {4, 8, 16}, .per_host = per_host});
    const RankPlaces hosts = placed(ranks, per_host);
    const Matrix times = times_between(graph, hosts, 8);
    std::array<double, 2> sums{}, counts{};
    for (Rank from = 0; from < ranks; ++from)
      for (Rank to = 0; to < ranks; ++to)
        if (from != to) {
          const std::size_t kind = hosts[from] == hosts[to] ? kSame : kOther;
          sums[kind] += *times[from][to];
          ++counts[kind];
        }
    const auto predicted = predict(model, {graph}, ranks);
    ASSERT_TRUE(predicted->pairs);
    for (const std::size_t kind : {kSame, kOther}) {
      EXPECT_NEAR(*(*predicted->pairs)[kind].share, counts[kind] / (ranks * (ranks - 1.0)), 1e-9);
      EXPECT_NEAR(*predicted->sizes[0].of_kind[kind].mean_ns / (sums[kind] / counts[kind]), 1, 0.01)
          << graph << " " << kind;
    }
  }
}

TEST(HostKinds, WhereRanksWouldBeIsNotKnownOfHostsThatAreUnequalOrInTurn) {
  std::mt19937 engine(1);
  for (const RankPlaces& hosts : {RankPlaces{{0, {}}, {1, {}}, {1, {}}, {1, {}}},
                                  RankPlaces{{0, {}}, {1, {}}, {0, {}}, {1, {}}}}) {
    std::vector<Row> rows;
    for (const char* graph : {"mesh", "ring"})
      rows.push_back(placed_row(graph, hosts, 8, 0, engine));
    const TopologyModel model = topology_models(rows, context_of(hosts)).front();
    const auto mesh = predict(model, {"mesh"}, 64), ring = predict(model, {"ring"}, 64);
    EXPECT_NEAR(*mesh->sizes[0].of_kind[kSame].mean_ns, time_ns(kWithinHost, 1, 8), 1);
    EXPECT_FALSE((*mesh->pairs)[kSame].share);
    EXPECT_FALSE(mesh->sizes[0].all.mean_ns);
    EXPECT_FALSE(ring->pairs);
    EXPECT_FALSE(ring->sizes[0].all.mean_ns);
    EXPECT_THAT(model_text(model, {64}, {.width = 300}), HasSubstr("not known on which hosts"));
  }
}

TEST(HostKinds, RanksPerHostAreEqualWhicheverNumaNodesTheyAreOn) {
  EXPECT_EQ(equal_ranks_per_host({{0, 0U}, {0, 1U}, {1, 0U}, {1, {}}}), 2U);
}

TEST(HostKinds, RowsThatDoNotSplitAreLeftOutAndCounted) {
  std::mt19937 engine(1);
  std::vector<Row> rows{placed_row("mesh", placed(8, 4), 8, 0, engine)};
  rows.push_back(rows.front());
  rows.back().topology->matrix_ns.clear();
  const TopologyModel model = topology_models(rows, context_of(placed(8, 4))).front();
  EXPECT_EQ(model.rows_not_split, 1U);
  const TopologyModel none =
      topology_models(std::span(rows).last(1), context_of(placed(8, 4))).front();
  EXPECT_FALSE(none.latency);
  EXPECT_THAT(model_text(none, {}, {.width = 200}), HasSubstr("The latencies of 1 rows"));
  EXPECT_NEAR(*model.latency->costs_of(PairKind::other_host).alpha_ns, time_ns(kBetweenHosts, 1, 8),
              1);
}

TEST(HostKinds, SimulatedRowsHaveTheHostsOfTheirNetwork) {
  std::mt19937 engine(1);
  std::vector<Row> rows{placed_row("mesh", placed(8, 4), 8, 0, engine)};
  rows[0].extra["path"] = "simulated";
  rows[0].case_object["device"] = "simulated:delay:5us,ranks-per-host:4,host-delay:1us";
  const Json other_hosts = context_of(placed(8, 2));  // of a result that others were merged into
  const TopologyModel model = topology_models(rows, other_hosts).front();
  ASSERT_TRUE(model.latency->by_kind());
  EXPECT_NEAR(*model.latency->costs_of(PairKind::other_host).alpha_ns, time_ns(kBetweenHosts, 1, 8),
              1);
  rows[0].case_object["device"] = "simulated:delay:5us";
  EXPECT_FALSE(topology_models(rows, other_hosts).front().latency->by_kind());
  rows[0].case_object["device"] = "simulated:ranks-per-host:0";
  EXPECT_FALSE(topology_models(rows, other_hosts).front().latency->by_kind());
}

TEST(HostKinds, LinesOfPredictionsSayWhichPairsAndHowMany) {
  const TopologyModel model = model_of_plan({.graphs = {"mesh"}, .ranks = {4, 8}, .noise = 0.02});
  std::string unknown;
  const std::vector<std::uint64_t> ranks{16};
  const Table table = prediction_table(model, ranks, unknown);
  ASSERT_EQ(table.lines(), 4U);
  EXPECT_EQ(table.columns[3].cells[0].text, "same host");
  EXPECT_EQ(table.columns[4].cells[0].text, "6.67");
  EXPECT_EQ(table.columns[3].cells[1].text, "other host");
  EXPECT_EQ(table.columns[4].cells[1].text, "93.3");
  EXPECT_THAT(prediction_remark(model), HasSubstr("hosts of 2 ranks each, placed one after"));
}

TEST(HostKinds, ManyRanksArePredictedFromSomeOfThem) {
  const TopologyModel model = model_of_plan({.ranks = {8, 16}, .per_host = 4});
  constexpr std::uint64_t kMany = 65536;
  for (const auto& [graph, hops_on_host] :
       {std::pair("mesh", 1.0), std::pair("ring", 5.0 / 3), std::pair("hypercube", 4.0 / 3)}) {
    const auto predicted = predict(model, {graph}, kMany);
    EXPECT_TRUE(predicted->sizes[0].all.mean_ns);
    EXPECT_NEAR((*predicted->pairs)[kSame].mean.all_hops() / hops_on_host, 1, 0.05) << graph;
    EXPECT_NEAR((*predicted->pairs)[kOther].mean.all_hops() / predicted->figures.hops_mean, 1, 0.01)
        << graph;
  }
}

TEST(HostKinds, NumaNodesOfAHostAreNotToldApart) {
  std::mt19937 engine(1);
  std::vector<Row> rows;
  for (const char* graph : {"mesh", "ring"})
    for (const std::uint64_t size : {8, 65536})
      rows.push_back(placed_row(graph, placed_on_nodes(8, 4), size, 0, engine));
  const auto text = [&] {
    const TopologyModel model = topology_models(rows, context_of(placed(8, 4))).front();
    EXPECT_TRUE(model.kinds[PairKind::same_host] && model.kinds[PairKind::other_host]);
    EXPECT_FALSE(model.kinds[PairKind::same_node] || model.kinds[PairKind::other_node]);
    return model_text(model, {8, 64}, {.width = 200});
  };
  const std::string with_nodes = text();
  for (Row& row : rows) row.extra.erase("placement");
  EXPECT_EQ(text(), with_nodes);
}

TEST(HostKinds, HeldOutRanksAreInsideTheIntervalOfTheirKind) {
  const std::vector<std::uint64_t> sizes{8, 4096};
  expect_held_out_in_intervals(
      [&](std::uint32_t seed) {
        return model_of_plan(
            {.ranks = {2, 4, 8}, .sizes = sizes, .noise = kHeldOutNoise, .repetitions = 3}, seed);
      },
      placed(16, 2), sizes,
      [](const RankPlace& a, const RankPlace& b) {
        return a.host == b.host ? PairKind::same_host : PairKind::other_host;
      });
}

}  // namespace
}  // namespace rdmameter
