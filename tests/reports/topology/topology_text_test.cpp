// SPDX-License-Identifier: Apache-2.0
// What `show` says of topologies; the whole of it against tests/reports/golden.
#include "reports/topology/topology_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "reports/show.h"
#include "reports/topology/growth_text.h"
#include "reports/topology/matrix_text.h"
#include "reports/topology/model_text.h"
#include "tests/reports/golden.h"
#include "tests/reports/samples.h"
#include "tests/reports/topology_samples.h"

namespace rdmameter {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ResultFile topology_file(std::vector<Row> rows) {
  return {"topology.json", topology_context(8), std::move(rows)};
}

TEST(TopologyText, Whole) {
  const ShowOptions options{.predict = {64, 16384}, .style = kPlain};
  const std::string text = show_result(topology_file(topology_rows()), options);
  expect_golden("topologies.txt", text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), 80U) << line;
}

TEST(TopologyText, IsAsciiWhereTheTerminalIs) {
  const ShowOptions options{.predict = {64}, .style = {.width = 80, .utf8 = false}};
  const std::string text = show_result(topology_file(topology_rows()), options);
  for (const char c : text) ASSERT_TRUE(static_cast<unsigned char>(c) < 0x80);
  EXPECT_THAT(text, HasSubstr("      0   ..oo"));
  EXPECT_EQ(text.find('?'), text.npos);
}

TEST(TopologyText, IsEmptyWithoutTopologies) {
  EXPECT_EQ(topology_text(topology_file(sample_rows()), {.style = kPlain}), "");
}

TEST(TopologyText, AStragglerStandsOutAndIsNamed) {
  for (const char* graph : {"mesh", "ring", "hypercube"}) {
    const std::string text = topology_text(
        topology_file({pairs_row(graph, 8, 64, 0, 1, {.straggler = 2})}), {.style = kPlain});
    EXPECT_THAT(text, HasSubstr("! rank 7 (beta) takes 2.0 times as long as the others")) << graph;
  }
}

TEST(Straggler, IsNoneAmongEquals) {
  for (const char* graph : {"mesh", "ring", "hypercube"})
    for (const std::uint64_t ranks : {2, 4, 8, 16}) {
      const Row row = pairs_row(graph, ranks, 64, 0, 1, {.spread = 0.05});
      EXPECT_FALSE(find_straggler(row.topology->matrix_ns, row.topology->edges)) << graph << ranks;
    }
}

TEST(Straggler, OfThreeRanksIsTheOneThatBothOthersWaitFor) {
  const Row row = pairs_row("mesh", 3, 64, 0, 1, {.straggler = 3});
  const auto found = find_straggler(row.topology->matrix_ns, row.topology->edges);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 2U);
  EXPECT_FALSE(found->to);
}

TEST(Straggler, MayBeOnePairAlone) {
  Row row = pairs_row("mesh", 6, 64, 0, 1);
  *row.topology->matrix_ns[4][1] *= 2;
  const auto found = find_straggler(row.topology->matrix_ns, row.topology->edges);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->rank, 4U);
  EXPECT_EQ(found->to, 1U);
  EXPECT_THAT(topology_text(topology_file({row}), {.style = kPlain}),
              HasSubstr("from rank 4 (alpha) to rank 1 (beta) takes 2.0 times"));
}

TEST(DrawMatrix, TellsNoNoiseApart) {
  const Row row = pairs_row("mesh", 4, 64, 0, 1);
  const std::string text = draw_matrix(row.topology->matrix_ns, kPlain);
  EXPECT_THAT(text, HasSubstr("░░"));
  EXPECT_THAT(text, Not(HasSubstr("█")));
}

TEST(DrawMatrix, ManyRanksShareCells) {
  Matrix matrix(256, std::vector<std::optional<double>>(256, 1'000));
  matrix[200][100] = 9'000;
  const std::string text = draw_matrix(matrix, kPlain);
  EXPECT_THAT(text, HasSubstr("4 ranks a cell"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 64 + 3);
  EXPECT_THAT(text, HasSubstr("█"));
  EXPECT_EQ(draw_matrix({}, kPlain), "");
  EXPECT_EQ(draw_matrix(Matrix(2, std::vector<std::optional<double>>(2)), kPlain), "");
  EXPECT_EQ(draw_matrix(Matrix(2, std::vector<std::optional<double>>(2, 0.0)), kPlain), "");
}

TEST(DrawGrowth, GivesEachLineALetterOfItsOwn) {
  const std::string text = draw_growth({{"ring", {{2, 1}, {4, 2}}, {{8, 4}}},
                                        {"random:3", {{2, 3}, {4, 5}}, {}},
                                        {"ra", {{2, 7}, {4, 9}}, {}}},
                                       {"µs", 1}, kPlain);
  EXPECT_THAT(text, HasSubstr("R ring   A random:3   B ra"));
  EXPECT_THAT(text, HasSubstr("small letters: predicted"));
  EXPECT_EQ(draw_growth({{"ring", {{2, 1}}, {}}}, {"µs", 1}, kPlain), "");
}

TEST(ModelText, SaysWhatOneShapeOfOneSizeCannotTell) {
  const auto models = topology_models(std::vector{pairs_row("mesh", 4, 64, 0, 1)});
  const std::string text = model_text(models.front(), {64}, kPlain);
  EXPECT_THAT(text, HasSubstr("Beta takes more than one size; alpha is that of 64 B"));
  EXPECT_THAT(text, HasSubstr("The cost of a hop takes a shape with relays"));
  EXPECT_THAT(text, HasSubstr("2.0"));
}

TEST(ModelText, NamesTheShapesThatAreNotThere) {
  const auto models = topology_models(std::vector{pairs_row("hypercube", 4, 64, 0, 1)});
  EXPECT_THAT(model_text(models.front(), {100}, kPlain), HasSubstr("hypercube at 100"));
}

/// Latencies of meshes and hypercubes over a device that holds the state of few QPs.
std::vector<Row> rows_with_a_knee() {
  std::vector<Row> rows;
  for (const std::uint64_t ranks : {4, 8, 16, 32, 64})
    for (const char* graph : {"mesh", "hypercube"})
      for (const std::uint64_t size : {64, 4096}) {
        const double qps = static_cast<double>(sample_graph(graph, ranks)[0].size());
        const double more_ns = 40'000 * std::max(0.0, 1 - 10 / qps);
        rows.push_back(pairs_row(graph, ranks, size, 0, 1, {.alpha_ns = 2'000 + more_ns}));
      }
  return rows;
}

TEST(Crossovers, TellFromWhichNumberOfRanksOnAnotherShapeIsBetter) {
  const auto models = topology_models(rows_with_a_knee());
  const auto all = crossovers(models.front());
  const auto latency = std::find_if(all.begin(), all.end(), [](const Crossover& one) {
    return one.number == "mean latency" && one.size_bytes == 64;
  });
  ASSERT_NE(latency, all.end());
  EXPECT_EQ(latency->below, "mesh");
  EXPECT_EQ(latency->above, "hypercube");
  ASSERT_TRUE(latency->at && latency->low);
  // 2 + 40 (1 - 10 / (n - 1)) us against 2 + 3 (hops - 1): equal at some 13 to 14 ranks.
  EXPECT_GE(*latency->at, 11U);
  EXPECT_LE(*latency->at, 16U);
  EXPECT_LE(*latency->low, *latency->at);
  EXPECT_GE(*latency->high, *latency->at);
  EXPECT_THAT(crossover_text(*latency), HasSubstr("ranks mesh, from there on hypercube (95 %: "));
}

}  // namespace
}  // namespace rdmameter
