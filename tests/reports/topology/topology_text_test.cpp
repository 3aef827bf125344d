// SPDX-License-Identifier: Apache-2.0
// What `show` says of topologies; the whole of it against tests/reports/golden.
#include "reports/topology/topology_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>

#include "core/result/row_json.h"
#include "reports/show.h"
#include "reports/topology/cases.h"
#include "reports/topology/matrix_text.h"
#include "reports/topology/model_text.h"
#include "tests/reports/golden.h"
#include "tests/reports/samples.h"
#include "tests/reports/topology/model/placed_rows.h"
#include "tests/reports/topology_samples.h"

namespace rdmameter {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

ResultFile topology_file(std::vector<Row> rows) {
  return {"topology.json", topology_context(8), std::move(rows)};
}

TEST(TopologyText, Whole) {
  const ShowOptions options{
      .predict = {64, 16384}, .memory_budget_bytes = 1 << 20, .style = kPlain};
  const std::string text = show_result(topology_file(topology_rows()), options);
  expect_golden("topologies.txt", text);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(text_width(line), 80U) << line;
}

TEST(TopologyText, IsAsciiWhereTheTerminalIs) {
  const ShowOptions options{.predict = {64}, .style = {.width = 80, .utf8 = false}};
  const std::string text = show_result(topology_file(topology_rows()), options);
  for (const char c : text) ASSERT_TRUE(static_cast<unsigned char>(c) < 0x80);
  EXPECT_THAT(text, HasSubstr("      0         . 2.03 o 5.07 # 8.07"));
  EXPECT_EQ(text.find('?'), text.npos);
}

TEST(TopologyText, LeavesOutWhatNobodyChose) {
  Row row = pairs_row("mesh", 4, 64, 0, 1);
  row.case_object.update({{"depth", 16}, {"memory", "host"}, {"device", "rxe0"}});
  const auto text = [&row](bool all) {
    return topology_text(topology_file({row}), {.all = all, .style = kPlain});
  };
  EXPECT_THAT(text(false), HasSubstr("topologies over rc\n  settings are defaults\n"));
  EXPECT_THAT(text(true), HasSubstr("depth 16, memory host, device rxe0\n"));
  row.case_object["depth"] = 32;
  EXPECT_THAT(text(false), HasSubstr("  depth 32; others are defaults\n"));
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

TEST(TopologyText, NobodyIsCalledSlowWhereRanksSharedCoresUnlessAskedFor) {
  Row row = pairs_row("mesh", 8, 64, 0, 1, {.straggler = 2});
  row.topology->yielding = true;
  const ResultFile file = topology_file({row});
  EXPECT_THAT(topology_text(file, {.style = kPlain}),
              AllOf(Not(HasSubstr("! rank")), HasSubstr("--judge-shared")));
  EXPECT_THAT(topology_text(file, {.judge_shared = true, .style = kPlain}), HasSubstr("! rank 7"));
}

TEST(TopologyText, DoesNotSayThatNobodyIsCalledSlowWhereSomebodyIs) {
  Row row = pairs_row("mesh", 8, 64, 0, 1, {.straggler = 2});
  row.topology->yielding = true;
  const auto text = [&](bool judge_shared) {
    return topology_text(topology_file({row}),
                         {.judge_shared = judge_shared, .style = {.width = 300}});
  };
  EXPECT_THAT(text(false), HasSubstr("so no rank is called slow"));
  EXPECT_THAT(text(true), AllOf(Not(HasSubstr("no rank is called slow")),
                                HasSubstr("may only have waited for a core")));
  row.topology->straggler = {.verdict = Straggler::Verdict::unknown};
  EXPECT_THAT(text(false), HasSubstr("so no rank is called slow"));
  row.topology->straggler = {.verdict = Straggler::Verdict::node, .rank = 7, .factor = 2.0};
  EXPECT_THAT(text(false), AllOf(HasSubstr("! rank 7"), Not(HasSubstr("no rank is called slow"))));
}

TEST(TopologyCases, TheRateOfARankIsThatOfThoseThatSend) {
  Row row = alltoall_row("mesh", 8, 64, 0, 1);
  row.topology->rank_gbps.assign(8, 0);
  row.topology->rank_gbps[1] = 61.5;  // incast:1
  const std::vector<Row> rows{row};
  const auto cases = topology_cases(rows, topology_models(rows));
  ASSERT_EQ(cases.size(), 1U);
  EXPECT_DOUBLE_EQ(*cases[0].rank_gbps, *cases[0].gbps);
}

TEST(PairTimes, StandInPlaceOfAMatrixThatTheFileHasNot) {
  std::vector<Row> rows;
  for (std::uint64_t repetition = 0; repetition < 3; ++repetition)
    rows.push_back(summarised_row(300, repetition, 3));
  EXPECT_LT(row_to_json(rows.front()).dump().size(), std::size_t{5} << 20);
  const std::string text = topology_text(topology_file(rows), {.style = kPlain});
  EXPECT_THAT(text, HasSubstr("one way between pairs of ranks"));
  EXPECT_THAT(text, HasSubstr("89700"));
  EXPECT_THAT(text, HasSubstr("2.10 µs"));
  const std::size_t slowest = text.find("slowest pairs, not judged: mesh, 300 ranks, 64 B");
  ASSERT_NE(slowest, text.npos) << text;
  EXPECT_NE(text.find("2.00", slowest), text.npos);
  EXPECT_LT(text.find("3 of 3", slowest), text.find("1 of 3", slowest));
  for (Row& row : rows) row.topology->yielding = true;
  EXPECT_THAT(topology_text(topology_file(rows), {.style = kPlain}),
              AllOf(HasSubstr("one way between pairs of ranks"), Not(HasSubstr("slowest pairs"))));
  EXPECT_THAT(topology_text(topology_file(rows), {.judge_shared = true, .style = kPlain}),
              HasSubstr("slowest pairs"));
}

TEST(Predictions, SayThatHopsOfRandomGraphsAreSampled) {
  TopologyModel model;
  model.shapes = {{"mesh"}};
  EXPECT_THAT(prediction_remark(model), Not(HasSubstr("sampled")));
  model.shapes.push_back({"random:4"});
  EXPECT_THAT(prediction_remark(model), HasSubstr("64 sampled ranks"));
}

/// Each of its ranks is alone on its host.
Straggler suspect_of(const Row& row) {
  return find_straggler(row.topology->matrix_ns, row.topology->edges,
                        placed(static_cast<Rank>(row.topology->ranks), 1));
}

TEST(Straggler, IsNoneAmongEquals) {
  for (const char* graph : {"mesh", "ring", "hypercube"})
    for (const std::uint64_t ranks : {2, 4, 8, 16}) {
      const Row row = pairs_row(graph, ranks, 64, 0, 1, {.spread = 0.05});
      EXPECT_EQ(suspect_of(row).verdict, Straggler::Verdict::none) << graph << ranks;
    }
}

TEST(Straggler, IsThePathThoughARankLooksSlowByChance) {
  // Times of a busy machine [ms]: even the quicker quarter of rank 3 took 1.4 times as long.
  const auto none = std::nullopt;
  const Matrix matrix{{none, 2.145, 3.849, 32.37},
                      {2.543, none, 2.055, 2.964},
                      {2.052, 2.020, none, 2.080},
                      {32.12, 2.897, 3.077, none}};
  const Straggler found = find_straggler(matrix, {}, placed(4, 1));
  EXPECT_EQ(found.verdict, Straggler::Verdict::path);
  EXPECT_EQ(found.rank, 0u);
  EXPECT_EQ(found.to, 3u);
}

TEST(Straggler, OfThreeRanksIsTheOneThatBothOthersWaitFor) {
  const Row row = pairs_row("mesh", 3, 64, 0, 1, {.straggler = 3});
  const auto found = suspect_of(row);
  EXPECT_EQ(found.verdict, Straggler::Verdict::node);
  EXPECT_EQ(found.rank, 2U);
  EXPECT_FALSE(found.to);
}

TEST(Straggler, MayBeOnePairAlone) {
  Row row = pairs_row("mesh", 6, 64, 0, 1);
  *row.topology->matrix_ns[4][1] *= 2;
  *row.topology->matrix_ns[1][4] *= 2;
  const auto found = suspect_of(row);
  EXPECT_EQ(found.verdict, Straggler::Verdict::path);
  EXPECT_EQ(found.rank, 1U);
  EXPECT_EQ(found.to, 4U);
  EXPECT_THAT(topology_text(topology_file({row}), {.style = kPlain}),
              HasSubstr("rank 1 (beta) and rank 4 (alpha) take 2.0 times"));
}

TEST(Straggler, IsWhatMostRepetitionsSayWhateverTheirMatrices) {
  const Straggler direction{
      .verdict = Straggler::Verdict::direction, .rank = 4, .to = 1, .factor = 2.5};
  std::vector<Row> rows;
  for (std::uint64_t repetition = 0; repetition < 3; ++repetition) {
    rows.push_back(pairs_row("mesh", 6, 64, repetition, 3, {.straggler = 3}));
    rows.back().topology->yielding = true;  // a run that was asked to judge all the same
    rows.back().topology->straggler = repetition < 2 ? direction : Straggler{};
  }
  const std::string text = topology_text(topology_file(rows), {.style = kPlain});
  EXPECT_THAT(text, HasSubstr("! messages from rank 4 (alpha) to rank 1 (beta) take 2.5 times"));
  EXPECT_THAT(text, Not(HasSubstr("! rank 5")));
  rows[0].topology->straggler = Straggler{};
  EXPECT_THAT(topology_text(topology_file(rows), {.style = kPlain}), Not(HasSubstr("! ")));
}

std::string text_of(const Row& row, const nlohmann::ordered_json& context) {
  return topology_text({"topology.json", context, {row}}, {.style = kPlain});
}

Row slow_rank_row(RankPlaces places, Rank slow) {
  std::mt19937 engine(1);
  Row row = placed_row("mesh", places, 64, 0.02, engine);
  for (Rank rank = 0; rank < places.size(); ++rank)
    if (rank != slow)
      for (auto* cell :
           {&row.topology->matrix_ns[rank][slow], &row.topology->matrix_ns[slow][rank]})
        **cell *= 3;
  return row;
}

TEST(Straggler, IsNobodyWhoIsOnlyAloneOnAHostOrNumaNode) {
  std::mt19937 engine(1);
  for (const RankPlaces& places : {placed(4, 3), placed(5, 4), placed(3, 2), placed(5, 3)})
    EXPECT_THAT(text_of(placed_row("mesh", places, 64, 0.05, engine), context_of(places)),
                Not(HasSubstr("! rank")))
        << places.size();
  RankPlaces on_nodes = placed(4, 4);
  for (Rank rank = 0; rank < 4; ++rank) on_nodes[rank].numa_node = rank == 3 ? 1 : 0;
  EXPECT_THAT(text_of(placed_row("mesh", on_nodes, 64, 0.05, engine), context_of(on_nodes)),
              Not(HasSubstr("! rank")));
}

TEST(Straggler, IsFoundAmongRanksThatShareHosts) {
  const RankPlaces places = placed(8, 4);
  EXPECT_THAT(text_of(slow_rank_row(places, 2), context_of(places)),
              ContainsRegex("! rank 2 \\(node0\\) takes (2.9|3.[01]) times"));
}

TEST(Straggler, IsNobodyWhereItIsNotKnownWhichRanksShareAHost) {
  const Row row = slow_rank_row(placed(4, 1), 2);
  EXPECT_THAT(text_of(row, {}), Not(HasSubstr("! rank")));
  EXPECT_THAT(text_of(row, context_of(placed(4, 1))), HasSubstr("! rank 2 (node2) takes"));
}

TEST(Straggler, OfASimulatedNetworkIsNobodyWhoIsAloneOnAHost) {
  std::mt19937 engine(1);
  Row row = placed_row("mesh", placed(4, 3), 64, 0, engine);
  row.extra = {{"path", "simulated"}};
  row.case_object["device"] = "delay:5us,ranks-per-host:3,host-delay:1us";
  EXPECT_THAT(text_of(row, {}), Not(HasSubstr("! rank")));
  Row slow = slow_rank_row(placed(4, 1), 2);
  slow.extra = {{"path", "simulated"}};
  slow.case_object["device"] = "delay:5us";
  EXPECT_THAT(text_of(slow, {}), HasSubstr("! rank 2 takes"));
}

TEST(Straggler, OfASimulatedExchangeIsNobody) {
  Row row = slow_rank_row(placed(4, 1), 2);
  row.extra = {{"path", "simulated"}};
  row.case_object["device"] = "delay:5us";
  row.topology->traffic = "alltoall";
  row.topology->matrix_ns.clear();
  row.topology->edges = {{0, 1}, {1, 2}, {2, 3}, {0, 3}};
  const std::vector<Row> rows{row};
  const auto cases = topology_cases(rows, topology_models(rows));
  EXPECT_FALSE(straggler_of(cases.at(0), matrix_of(cases.at(0))));
}

/// Of repetitions of one case.
std::string kinds_text(const std::vector<Row>& rows, const nlohmann::ordered_json& context) {
  const auto cases = topology_cases(rows, topology_models(rows), context);
  return matrix_kinds_text(cases.at(0), matrix_of(cases.at(0)));
}

TEST(MatrixKinds, HaveTheMedianOfEachWhereThereAreSeveral) {
  std::mt19937 engine(1);
  const auto text = [&engine](const RankPlaces& places) {
    return kinds_text({placed_row("mesh", places, 0, 0, engine)}, context_of(places));
  };
  EXPECT_EQ(text(placed(4, 2)), "median by kind of pair: same host 1.00 µs, other host 5.00 µs");
  EXPECT_EQ(text(placed_on_nodes(8, 4)),
            "median by kind of pair: same NUMA node 1.00 µs, other NUMA node 1.60 µs, other host "
            "5.00 µs");
  EXPECT_EQ(text(placed(4, 4)), "");
  EXPECT_EQ(text(placed(4, 1)), "");
}

nlohmann::ordered_json& ranks_of(Row& row) {
  return row.extra["placement"]["ranks"];
}

TEST(MatrixKinds, ARankThatMovedHasNoNumaNodeUnlessItWasPinned) {
  std::mt19937 engine(1);
  const RankPlaces places = placed_on_nodes(8, 8);
  std::vector<Row> rows(2, placed_row("mesh", places, 0, 0, engine));
  const auto text = [&] { return kinds_text(rows, context_of(places)); };
  ranks_of(rows[1])["numa_nodes"][2] = 1U;
  const std::string two = "median by kind of pair: same NUMA node 1.00 µs, other NUMA node 1.60 µs";
  EXPECT_EQ(text(), two) << "pinned";
  for (Row& row : rows) ranks_of(row)["pinned"] = 7;
  EXPECT_THAT(text(), HasSubstr(", same host")) << "of rank 2 with the others";
  ranks_of(rows[1])["numa_nodes"][2] = 0U;
  EXPECT_EQ(text(), two) << "it did not move";
}

TEST(MatrixKinds, HostileNumaNodesAreNone) {
  std::mt19937 engine(1);
  const RankPlaces places = placed_on_nodes(8, 8);
  Row row = placed_row("mesh", places, 0, 0, engine);
  for (const auto& hostile :
       {nlohmann::ordered_json("0"), nlohmann::ordered_json::array({0, 1}),
        nlohmann::ordered_json(std::vector<double>(8, -0.5)), nlohmann::ordered_json::object()}) {
    ranks_of(row)["numa_nodes"] = hostile;
    EXPECT_EQ(kinds_text({row}, context_of(places)), "") << hostile.dump();
  }
  ranks_of(row) = 3;
  EXPECT_EQ(kinds_text({row}, context_of(places)), "");
}

TEST(MatrixKinds, OfSimulatedRanksAreThoseOfTheirNetwork) {
  std::mt19937 engine(1);
  for (const auto& [in_turn, network] :
       {std::pair(true, "simulated:delay:5us,ranks-per-host:8,numa-in-turn:2"),
        std::pair(false, "simulated:delay:5us,ranks-per-numa:4,ranks-per-host:8")}) {
    Row row = placed_row("mesh", placed_on_nodes(16, 8, in_turn), 0, 0, engine);
    row.extra = {{"path", "simulated"}};
    row.case_object["device"] = network;
    EXPECT_EQ(kinds_text({row}, {}),
              "median by kind of pair: same NUMA node 1.00 µs, other NUMA node 1.60 µs, other host "
              "5.00 µs");
  }
}

TEST(MatrixKinds, AreBelowTheMatrix) {
  std::mt19937 engine(1);
  const RankPlaces places = placed(4, 2);
  ResultFile file = topology_file({placed_row("mesh", places, 8, 0, engine)});
  file.context["rdmameter"]["ranks"] = context_of(places)["rdmameter"]["ranks"];
  EXPECT_THAT(show_result(file, {.style = kPlain}),
              ContainsRegex("µs\n  median by kind of pair: same host"));
}

TEST(DrawMatrix, TellsNoNoiseApart) {
  const Row row = pairs_row("mesh", 4, 64, 0, 1);
  const std::string text = draw_matrix(row.topology->matrix_ns, kPlain);
  EXPECT_THAT(text, HasSubstr("░░"));
  EXPECT_THAT(text, Not(HasSubstr("█")));
}

TEST(DrawMatrix, HasTheTimesWhereTheyFit) {
  Matrix matrix(3, std::vector<std::optional<double>>(3, 2'000));
  matrix[1][1].reset();
  matrix[2][0] = 12'340;
  EXPECT_EQ(draw_matrix(matrix, kPlain),
            " from to      0      1      2\n"
            "      0  ░ 2.00 ░ 2.00 ░ 2.00\n"
            "      1  ░ 2.00        ░ 2.00\n"
            "      2  █ 12.3 ░ 2.00 ░ 2.00\n"
            "        ░░ from 2.00   ▒▒ from 3.15   ▓▓ from 4.97   ██ from 7.83   µs\n");
  const Matrix many(20, std::vector<std::optional<double>>(20, 2'000));
  EXPECT_THAT(draw_matrix(many, kPlain),
              AllOf(HasSubstr("to rank 0 ... 19"), Not(HasSubstr("2.00 ░"))));
}

TEST(DrawMatrix, HasTheBandwidthsOfStreams) {
  Matrix matrix(2, std::vector<std::optional<double>>(2, 2'000));
  matrix[1][0] = 12'340;
  EXPECT_EQ(draw_matrix(matrix, kPlain, {}, {.message_bits = 8 * 25'000}),
            " from to      0      1\n"
            "      0  ░  100 ░  100\n"
            "      1  █ 16.2 ░  100\n"
            "        ░░ up to 100   ▒▒ up to 63.4   ▓▓ up to 40.3   ██ up to 25.5   Gb/s\n");
}

TEST(PairTimes, OfStreamsAreBandwidthsTheLeastFirst) {
  std::vector<Row> rows;
  for (std::uint64_t repetition = 0; repetition < 3; ++repetition) {
    rows.push_back(summarised_row(300, repetition, 3));
    rows.back().topology->traffic = rows.back().case_object["traffic"] = "pairs-bw";
  }
  const std::string text = topology_text(topology_file(rows), {.style = {.width = 200}});
  EXPECT_THAT(text, HasSubstr("bandwidth between pairs of ranks"));
  EXPECT_THAT(text, Not(HasSubstr("one way")));
  EXPECT_THAT(text, ContainsRegex("min +p1 +p10 +p50 +p90 +max"));
  // 64 B in 4, 2.101 ... and 1.901 µs.
  EXPECT_THAT(text, ContainsRegex("128.0 Mb/s +243.7 Mb/s .* 269.3 Mb/s"));
}

TEST(DrawMatrix, CrossesPairsThatFailed) {
  Matrix matrix(2, std::vector<std::optional<double>>(2, 2'000));
  matrix[0][0].reset();
  matrix[1][0].reset();
  EXPECT_EQ(draw_matrix(matrix, kPlain, {{1, 0}}),
            " from to      0      1\n"
            "      0         ░ 2.00\n"
            "      1       x ░ 2.00\n"
            "        x failed\n"
            "        ░░ from 2.00   µs\n");
}

TEST(FailedPairs, AreTold) {
  std::vector<Row> rows{pairs_row("mesh", 4, 64, 0, 2), pairs_row("mesh", 4, 64, 1, 2)};
  rows[0].topology->failed_pairs = {{1, 3, "rank 1: no answer. Look at the cable."},
                                    {3, 1, "rank 1: no answer. Look at the cable."},
                                    {2, 0, "rank 2: late"}};
  rows[0].topology->matrix_ns[1][3].reset();
  const std::string text = topology_text(topology_file(rows), {.style = {.width = 200}});
  EXPECT_THAT(text, HasSubstr("failed in 1 of 2 repetitions: rank 1: no answer.\n"));
  EXPECT_THAT(text, HasSubstr("! between rank 1 ("));
  EXPECT_THAT(text, HasSubstr("! from rank 2 ("));
  EXPECT_THAT(text, Not(HasSubstr("cable")));
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

TEST(ModelText, SaysWhatOneShapeOfOneSizeCannotTell) {
  const auto models = topology_models(std::vector{pairs_row("mesh", 4, 64, 0, 1)});
  const std::string text = model_text(models.front(), {64}, kPlain);
  EXPECT_THAT(text, HasSubstr("Beta needs more than one size; alpha is that of 64 B"));
  EXPECT_THAT(text, HasSubstr("The cost of a hop needs a graph with relays"));
  EXPECT_THAT(text, HasSubstr("2.0"));
}

TEST(ModelText, NamesTheShapesThatAreNotThere) {
  const auto models = topology_models(std::vector{pairs_row("hypercube", 4, 64, 0, 1)});
  EXPECT_THAT(model_text(models.front(), {100}, kPlain), HasSubstr("hypercube at 100"));
}

}  // namespace
}  // namespace rdmameter
