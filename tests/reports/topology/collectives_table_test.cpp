// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/result/row_json.h"
#include "reports/export/format.h"
#include "reports/topology/decision_table.h"
#include "reports/topology/tables.h"
#include "reports/topology/topology_text.h"
#include "tests/reports/topology_samples.h"

namespace rdmameter {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

/// Of 4 ranks and 4096 bytes; 40 of them, each as long as given.
Row collective_row(const std::string& name, std::uint64_t time_ns) {
  Row row = pairs_row("mesh", 4, 4096, 0, 1);
  row.name = name;
  row.case_object["traffic"] = row.topology->traffic = name;
  row.topology->by_hops.clear();
  row.topology->matrix_ns.clear();
  const auto times = std::make_unique<Histogram>();
  for (int i = 0; i < 40; ++i) times->record(time_ns);
  row.latency =
      LatencyData{.definition = LatencyData::Definition::collective, .histogram = snapshot(*times)};
  row.topology->collective = CollectiveData{.bytes = 4096,
                                            .steps = 2,
                                            .step_bytes = 8192,
                                            .messages = 8,
                                            .sent_bytes = 32768,
                                            .relayed_hops = 3,
                                            .rank_min_ns = 7'000,
                                            .rank_mean_ns = 8'000,
                                            .rank_max_ns = 9'000,
                                            .algbw_gb_per_s = 0.5,
                                            .busbw_gb_per_s = 0.75};
  return row;
}

std::vector<Row> rows_with_costs() {
  // alpha 2000 ns and beta 0.1 ns/B, as the imaginary cluster has them.
  std::vector<Row> rows{pairs_row("mesh", 4, 64, 0, 1, {.spread = 0}),
                        pairs_row("mesh", 4, 65536, 0, 1, {.spread = 0}),
                        collective_row("allreduce-ring", 20'000),
                        collective_row("allreduce-rd", 10'000)};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].family_index = i;
  return rows;
}

TEST(CollectivesTable, HasTheFastestOfAKindFirstWithItsShareOfTheBound) {
  const std::vector<Row> rows = rows_with_costs();
  const auto models = topology_models(rows);
  const auto cases = topology_cases(rows, models);
  const Table table = collectives_table(cases);
  const auto column = [&table](const std::string& head, const std::string& qualifier = "") {
    std::vector<std::string> cells;
    for (const Table::Column& each : table.columns)
      if (each.head == head && (qualifier.empty() || each.qualifier == qualifier))
        for (const auto& cell : each.cells) cells.push_back(cell.text);
    return cells;
  };
  using Cells = std::vector<std::string>;
  EXPECT_EQ(column("collective"), (Cells{"allreduce-rd", "allreduce-ring"}));
  EXPECT_EQ(column("size"), (Cells{"4096", "4096"}));
  EXPECT_EQ(column("p50"), (Cells{"10.0", "20.0"}));
  EXPECT_EQ(column("of bound"), (Cells{"48", "24"}));  // (2 * 2000 + 8192 * 0.1) / 10000
  EXPECT_EQ(column("relayed"), (Cells{"3", "3"}));
}

TEST(CollectivesTable, CollectivesStandInNoOtherTable) {
  const std::vector<Row> rows = rows_with_costs();
  const auto models = topology_models(rows);
  const auto cases = topology_cases(rows, models);
  const auto tables = decisions(without_collectives(cases), models, {});
  EXPECT_THAT(mapped(tables, [](const Decision& each) { return each.table.title; }),
              ElementsAre(HasSubstr(", 64 B"), HasSubstr(", 65536 B")));
  const std::string text =
      topology_text({.path = "here", .context = topology_context(4), .rows = rows}, {});
  EXPECT_THAT(text, HasSubstr("collectives: time of the slowest rank"));
  EXPECT_THAT(text, HasSubstr("allreduce-rd"));
  EXPECT_THAT(text, Not(HasSubstr("allreduce-rd, 4096 B")));
  const std::string without =
      topology_text({.path = "here", .context = topology_context(4), .rows = {rows[0]}}, {});
  EXPECT_THAT(without, Not(HasSubstr("collectives")));
}

TEST(CollectivesTable, ARowKeepsItsCollectiveInFileAndCsv) {
  const Row row = collective_row("allreduce-rd", 10'000);
  const Row read = row_from_json(row_to_json(row), "here");
  ASSERT_TRUE(read.topology->collective);
  EXPECT_EQ(row_to_json(read), row_to_json(row));
  EXPECT_EQ(read.topology->collective->relayed_hops, 3u);
  EXPECT_EQ(read.topology->collective->busbw_gb_per_s, 0.75);
  EXPECT_EQ(read.latency->definition, LatencyData::Definition::collective);
  const std::string csv = to_csv({{.path = "here", .context = topology_context(4), .rows = {row}}});
  EXPECT_THAT(csv, HasSubstr("collective_busbw_gb_per_s"));
  EXPECT_THAT(csv, HasSubstr(",0.5,0.75,"));
}

}  // namespace
}  // namespace rdmameter
