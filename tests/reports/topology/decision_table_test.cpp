// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/decision_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/topology/topology_text.h"
#include "tests/reports/topology_samples.h"

namespace rdmameter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<ShapeChoice> choices_of(const std::vector<Row>& rows) {
  const auto models = topology_models(rows);
  return shape_choices(topology_cases(rows, models), models, 64);
}

Row over_ud(Row row) {
  row.topology->graph = "udmesh";
  row.case_object["graph"] = "udmesh";
  row.case_object["transport"] = "ud";
  row.case_object.erase("qps_per_edge");
  row.topology->qps_per_rank.assign(row.topology->ranks, 1);
  return row;
}

TEST(DecisionTable, HasALineForEachShapeWhateverItsTransportAndTraffic) {
  const std::vector<ShapeChoice> choices =
      choices_of({pairs_row("mesh", 4, 64, 0, 1), alltoall_row("mesh", 4, 64, 0, 1),
                  pairs_row("ring", 4, 64, 0, 1), over_ud(pairs_row("mesh", 4, 64, 0, 1)),
                  pairs_row("mesh", 2, 64, 0, 1), pairs_row("mesh", 4, 4096, 0, 1)});
  ASSERT_EQ(choices.size(), 4U);
  std::vector<std::string> names;
  for (const ShapeChoice& choice : choices)
    names.push_back(std::to_string(choice.ranks) + " " + choice.shape + " " + choice.over);
  EXPECT_THAT(names, ElementsAre("2 mesh rc", "4 mesh rc", "4 ring rc", "4 udmesh ud"));
  EXPECT_EQ(choices[1].qps, 3);
  EXPECT_EQ(choices[3].qps, 1);
  EXPECT_EQ(choices[1].farthest_ns, choices[1].p50_ns);  // one hop
  EXPECT_GT(*choices[2].farthest_ns, *choices[2].p50_ns);
  EXPECT_EQ(choices[1].rank_mmsg_per_s, std::nullopt);
}

/// A stream between all ranks is not their exchange.
TEST(DecisionTable, KeepsTheTimeOfAnAllToAllBesideRandom) {
  Row exchange = alltoall_row("mesh", 4, 64, 0, 1), random = exchange;
  exchange.latency = pairs_row("mesh", 4, 64, 0, 1).latency;
  random.topology->traffic = "random";
  random.case_object["traffic"] = "random";
  random.name += "/random";
  EXPECT_TRUE(choices_of({exchange, random}).front().exchange_ns);
}

TEST(DecisionTable, ItsTitleTellsTransportsWhereEachShapeHasOne) {
  const Row mesh = pairs_row("mesh", 4, 64, 0, 1), ring = pairs_row("ring", 4, 64, 0, 1),
            udmesh = over_ud(mesh);
  const auto has_column = [](const std::vector<ShapeChoice>& choices) {
    const Table table = decision_table(choices, 64);
    return std::ranges::find(table.columns, "over", &Table::Column::head) != table.columns.end();
  };
  auto choices = choices_of({mesh, ring});
  EXPECT_EQ(decision_table(choices, 64).title, "how to connect ranks, 64 B over rc");
  EXPECT_FALSE(has_column(choices));
  choices = choices_of({mesh, udmesh, ring});
  EXPECT_EQ(decision_table(choices, 64).title,
            "how to connect ranks, 64 B: mesh, ring over rc; udmesh over ud");
  EXPECT_FALSE(has_column(choices));
  Row other = ring;
  other.case_object["transport"] = "uc";
  choices = choices_of({mesh, ring, other});
  EXPECT_EQ(decision_table(choices, 64).title, "how to connect ranks, 64 B");
  EXPECT_TRUE(has_column(choices));
}

TEST(DecisionTable, FitsAnOrdinaryTerminalWithAllItsTraffics) {
  std::vector<Row> rows;
  for (const std::uint64_t ranks : {2, 4, 8})
    for (const char* graph : {"mesh", "ring"})
      for (Row row : {pairs_row(graph, ranks, 64, 0, 1), alltoall_row(graph, ranks, 64, 0, 1)}) {
        rows.push_back(row);
        row.topology->traffic = "flood";
        row.case_object["traffic"] = "flood";
        rows.push_back(row);
      }
  const auto choices = choices_of(rows);
  const std::string text = render(decision_table(choices, 64), {.width = 80});
  EXPECT_EQ(std::ranges::count(text, '\n'), 2 + 6 + (text.find("left out") != text.npos ? 1 : 0));
}

TEST(DecisionTable, MemoryIsThatOfTheTrafficThatNeedsMost) {
  Row pairs = pairs_row("ring", 4, 64, 0, 1), exchange = alltoall_row("ring", 4, 64, 0, 1);
  pairs.topology->connection_bytes = {{"buffers", 5000}};
  exchange.topology->connection_bytes = {{"buffers", 4000}};
  EXPECT_EQ(choices_of({pairs, exchange})[0].memory_bytes, 5000);
  EXPECT_EQ(choices_of({exchange, pairs})[0].memory_bytes, 5000);
}

TEST(DecisionTable, OfModelsNamesWhatTheOtherOneHasToo) {
  Row sends = pairs_row("mesh", 4, 64, 0, 1), writes = sends;
  sends.case_object["recv"] = "srq";
  writes.case_object["opcode"] = "write";
  writes.case_object["traffic"] = "flood";
  const auto choices = choices_of({sends, writes});
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_EQ(choices[0].over, "rc");
  EXPECT_EQ(choices[1].over, "rc opcode:write");
  sends.case_object["depth"] = 16;
  writes.case_object["depth"] = 7;
  EXPECT_THAT(choices_of({sends, writes})[1].over, HasSubstr("depth:7 opcode:write"));
}

TEST(DecisionTable, CountsTheConnectTimesOfEveryTraffic) {
  std::vector<Row> rows{pairs_row("mesh", 4, 64, 0, 1), alltoall_row("mesh", 4, 64, 0, 2),
                        alltoall_row("mesh", 4, 64, 1, 2)};
  for (std::uint64_t i = 0; i < 3; ++i)
    rows[i].topology->connect_ns = {{"create_qp", 100 * i + 100}};
  const auto choices = choices_of(rows);
  ASSERT_EQ(choices.size(), 1U);
  EXPECT_EQ(choices[0].connect_ns, 200);
}

TEST(DecisionTable, AFloodGivesMessagesOfARankAndAnInflatedMeshIsALineForEachNumberOfQPs) {
  std::vector<Row> rows;
  for (const std::uint64_t inflate : {16, 64}) {
    Row row = alltoall_row("mesh", 2, 64, 0, 1);
    row.topology->traffic = "flood";
    row.case_object["traffic"] = "flood";
    row.case_object["inflate"] = inflate;
    row.case_object["active"] = "max";
    row.name += "/inflate:" + std::to_string(inflate);
    row.topology->rank_gbps = {1, 1};
    rows.push_back(row);
  }
  const auto choices = choices_of(rows);
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_EQ(choices[0].shape, "mesh inflate:16");
  EXPECT_EQ(choices[1].shape, "mesh inflate:64");
  const BandwidthData& flood = *rows[0].bandwidth;
  EXPECT_NEAR(*choices[0].rank_mmsg_per_s,
              1e3 * static_cast<double>(flood.messages) / static_cast<double>(flood.window_ns) / 2,
              1e-9);
}

TEST(DecisionTable, NamesTheAxesInWhichLinesOfOneTransportDiffer) {
  Row shallow = pairs_row("mesh", 4, 64, 0, 1), deep = pairs_row("mesh", 4, 64, 0, 1);
  shallow.case_object["depth"] = 1;
  deep.case_object["depth"] = 16;
  const auto choices = choices_of({shallow, deep});
  ASSERT_EQ(choices.size(), 2U);
  EXPECT_EQ(choices[0].over, "rc depth:1");
  EXPECT_EQ(choices[1].over, "rc depth:16");
}

TEST(DecisionTable, AnAxisOfOneTrafficMakesNoLineOfItsOwn) {
  const auto drawn = [](std::uint64_t seed) {
    Row row = pairs_row("mesh", 4, 64, 0, 1);
    row.case_object["pairs"] = "all";
    row.case_object["seed"] = seed;
    return row;
  };
  Row flood = alltoall_row("mesh", 4, 64, 0, 1);
  flood.topology->traffic = "flood";
  flood.case_object["traffic"] = "flood";
  flood.topology->rank_gbps.assign(4, 1);
  for (const auto& rows : {std::vector{drawn(1), flood}, std::vector{flood, drawn(1)}}) {
    const auto choices = choices_of(rows);
    ASSERT_EQ(choices.size(), 1U);
    EXPECT_EQ(choices[0].over, "rc");
    EXPECT_TRUE(choices[0].p50_ns && choices[0].rank_mmsg_per_s);
  }
  const auto both = choices_of({flood, drawn(1), drawn(2)});
  ASSERT_EQ(both.size(), 2U);
  EXPECT_EQ(both[0].over, "rc seed:1");
  EXPECT_TRUE(both[0].rank_mmsg_per_s);
  EXPECT_EQ(both[1].over, "rc seed:2");
}

TEST(DecisionTable, IsTheFirstThingThatIsShown) {
  const std::vector<Row> rows{pairs_row("mesh", 4, 64, 0, 1)};
  const std::string text = topology_text({"x.json", topology_context(4), rows}, {});
  EXPECT_LT(text.find("how to connect"), text.find("what each graph needs"));
  EXPECT_THAT(text, HasSubstr("connect"));
}

}  // namespace
}  // namespace rdmameter
