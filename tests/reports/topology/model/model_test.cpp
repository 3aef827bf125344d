// SPDX-License-Identifier: Apache-2.0
// From rows to models and predictions.
#include "reports/topology/model/model.h"

#include <gtest/gtest.h>

#include "tests/reports/topology_samples.h"

namespace rdmameter {
namespace {

std::vector<Row> exchange_rows(const std::string& traffic) {
  std::vector<Row> rows;
  for (const char* graph : {"mesh", "ring"})
    for (const std::uint64_t ranks : {4, 8})
      for (const std::uint64_t size : {64, 4096}) {
        rows.push_back(alltoall_row(graph, ranks, size, 0, 1));
        rows.back().topology->traffic = traffic;
        rows.back().case_object["traffic"] = traffic;
      }
  return rows;
}

TEST(TopologyModels, AreOneForEachSettingOfTheOtherAxes) {
  std::vector<Row> rows = topology_rows();
  const std::size_t half = rows.size() / 2;
  for (std::size_t i = 0; i < half; ++i) rows[i].case_object["recv"] = "srq";
  const auto models = topology_models(rows);
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[0].setting["recv"], "srq");
  EXPECT_EQ(model_of(models, rows.front()), 0U);
  EXPECT_EQ(model_of(models, rows[half]), 1U);
  EXPECT_EQ(topology_models(std::vector<Row>{}).size(), 0U);
}

TEST(TopologyModels, QpsArePredictedByDegree) {
  const TopologyModel model = topology_models(topology_rows()).front();
  EXPECT_EQ(model.shapes, (std::vector<ModelShape>{{"mesh"}, {"ring"}, {"hypercube"}}));
  EXPECT_EQ(model.ranks, (std::set<std::uint64_t>{2, 4, 6, 8}));
  const auto mesh = predict(model, {"mesh"}, 100);
  ASSERT_TRUE(mesh);
  EXPECT_EQ(mesh->qps_per_rank, 99U);
  EXPECT_EQ(mesh->qps_total, 9'900U);
  EXPECT_TRUE(mesh->more_qps_than_measured);
  EXPECT_FALSE(mesh->sizes[0].memory_bytes) << "of samples, whose memory is made up";
  const auto ring = predict(model, {"ring"}, 100);
  EXPECT_EQ(ring->qps_total, 200U);
  EXPECT_FALSE(ring->more_qps_than_measured);
  EXPECT_FALSE(predict(model, {"hypercube"}, 100));
  EXPECT_FALSE(predict(model, {"dragonfly"}, 100));
}

TEST(TopologyModels, WhatGoesNobodyKnowsWhereHasNoShareOfTheModel) {
  std::vector<Row> rows = exchange_rows("incast:3");
  rows.push_back(pairs_row("mesh", 4, 64, 0, 1));
  rows.push_back(pairs_row("mesh", 4, 4096, 0, 1));
  const TopologyModel model = topology_models(rows).front();
  EXPECT_EQ(model.exchanges, std::set<std::string>{"incast:3"});
  EXPECT_TRUE(model.latency && model.latency->knows_beta());
  EXPECT_FALSE(model_share(model, rows.front()));
}

TEST(MessageInterval, IsThatOfTheRanksThatSend) {
  Row row = exchange_rows("incast:3").front();
  const double of_all_ns = *message_interval_ns(row);
  row.topology->rank_gbps.assign(row.topology->ranks, 0);
  row.topology->rank_gbps[1] = row.topology->rank_gbps[2] = 1;
  EXPECT_NEAR(*message_interval_ns(row), of_all_ns * 2 / real(row.topology->ranks), 1e-6);
}

TEST(ModelShare, IsWhatTheLatenciesPromiseOverWhatTheExchangeTook) {
  std::vector<Row> rows = topology_rows();
  const TopologyModel model = topology_models(rows).front();
  const Costs costs = model.latency->costs();
  const Row row = alltoall_row("ring", 8, 4096, 0, 1);
  const double promised = costs.alpha_ns + row.topology->hops->mean * 4096 * costs.beta_ns_per_byte;
  EXPECT_NEAR(*model_share(model, row), promised / *message_interval_ns(row), 1e-9);
  EXPECT_FALSE(model_share(model, pairs_row("ring", 8, 64, 0, 1))) << "has no rate";
}

TEST(TopologyModels, HostileRowsGiveNoNumberThatIsNone) {
  Row row = pairs_row("ring", 4, 64, 0, 1);
  row.topology->graph = "kring:18446744073709551615";
  row.topology->connection_bytes = {{"buffers", 0}};
  for (auto& one : row.topology->by_hops) one.latency.histogram = {};
  const auto models = topology_models(std::vector{row});
  EXPECT_FALSE(models.front().latency);
  EXPECT_FALSE(models.front().knows_memory);
  const auto result = predict(models.front(), {row.topology->graph}, 1000);
  ASSERT_TRUE(result);
  EXPECT_EQ(result->qps_per_rank, 999U);
}

}  // namespace
}  // namespace rdmameter
