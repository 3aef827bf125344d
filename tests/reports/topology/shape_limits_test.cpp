// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "reports/topology/decision_table.h"
#include "tests/reports/topology_samples.h"
#include "topologies/traffic/connection_memory.h"

namespace rdmameter {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

std::vector<std::string> sentences_of(const std::vector<Row>& rows, const GivenLimits& limits) {
  const auto models = topology_models(rows);
  return limit_sentences(topology_cases(rows, models), models, 64, limits);
}

Knee knee_of_rows(const std::vector<Row>& rows) {
  const auto models = topology_models(rows);
  return measured_knee(topology_cases(rows, models), 0, 64);
}

/// An inflated mesh of two ranks with so many QPs at each, of which all send.
Row flood_row(std::uint64_t qps, double relative_rate, std::uint64_t repetition = 0) {
  Row row = alltoall_row("mesh", 2, 64, repetition, 2);
  row.topology->traffic = "flood";
  row.case_object["traffic"] = "flood";
  row.case_object["inflate"] = qps + 1;
  row.case_object["active"] = "max";
  row.name += "/inflate:" + std::to_string(qps + 1);
  row.topology->qps_per_rank.assign(2, qps);
  row.bandwidth->bytes = 64'000'000;
  row.bandwidth->window_ns = static_cast<std::uint64_t>(1e9 / relative_rate);
  return row;
}

TEST(ShapeLimits, TheDevicesQPsRuleOutTheFirstSizeThatHasMore) {
  EXPECT_THAT(sentences_of({pairs_row("mesh", 4, 64, 0, 1), pairs_row("ring", 4, 64, 0, 1),
                            pairs_row("hypercube", 4, 64, 0, 1)},
                           {.max_qp = 10, .memory_budget_bytes = {}}),
              ElementsAre("The device's 10 QPs, of one rank on each device, rule out mesh from 12 "
                          "ranks, hypercube from 2048 ranks; no other shape up to 1048576 ranks."));
}

TEST(ShapeLimits, QPsPerEdgeCount) {
  Row row = pairs_row("ring", 4, 64, 0, 1);
  row.case_object["qps_per_edge"] = 4U;
  EXPECT_THAT(sentences_of({row}, {.max_qp = 7, .memory_budget_bytes = {}}),
              ElementsAre(HasSubstr("rule out ring qps_per_edge:4 from 3 ranks;")));
  EXPECT_THAT(sentences_of({row}, {.max_qp = 8, .memory_budget_bytes = {}}),
              ElementsAre(HasSubstr("rule out no shape up to")));
}

TEST(ShapeLimits, EachNumberOfQPsPerEdgeIsRuledOutByItself) {
  const Row one = pairs_row("mesh", 4, 64, 0, 1);
  Row two = one;
  two.case_object["qps_per_edge"] = 2U;
  EXPECT_THAT(sentences_of({one, two}, {.max_qp = 10, .memory_budget_bytes = {}}),
              ElementsAre(HasSubstr("mesh from 12 ranks, mesh qps_per_edge:2 from 7 ranks;")));
  EXPECT_THAT(sentences_of({two, one}, {.max_qp = 10, .memory_budget_bytes = {}}),
              ElementsAre(HasSubstr("mesh qps_per_edge:2 from 7 ranks, mesh from 12 ranks;")));
}

/// A row whose rank with most has so many links, with the memory that a run computes for them.
Row with_memory_of(Row row, std::uint64_t links) {
  const std::uint64_t depth = row.case_object.value("depth", 0U);
  row.topology->connection_bytes = connection_bytes({.links = links,
                                                     .message_bytes = 64,
                                                     .sends = links * (depth + 1),
                                                     .receives = links * depth,
                                                     .places = links * depth,
                                                     .hop_classes = row.topology->hops->max});
  return row;
}

TEST(ShapeLimits, ABudgetOfMemoryIsHeldAgainstTheClosedForm) {
  const std::vector<Row> rows{with_memory_of(pairs_row("mesh", 4, 64, 0, 1), 3),
                              with_memory_of(pairs_row("ring", 4, 64, 0, 1), 2)};
  std::uint64_t budget = 0;  // of 50 links, but for one byte
  const Row larger = with_memory_of(rows[0], 50);
  for (const auto& [kind, bytes] : larger.topology->connection_bytes) budget += bytes;
  EXPECT_THAT(sentences_of(rows, {.max_qp = {}, .memory_budget_bytes = budget - 1}),
              ElementsAre(AllOf(HasSubstr("rules out mesh from 51 ranks, ring from "),
                                HasSubstr(", by the memory of connections."))));
}

TEST(ShapeLimits, MemoryOfRowsThatDoNotFollowTheClosedFormIsNotKnown) {
  EXPECT_THAT(sentences_of({pairs_row("mesh", 4, 64, 0, 1)},
                           {.max_qp = {}, .memory_budget_bytes = 1 << 20}),
              ElementsAre(AllOf(HasSubstr("Not known of mesh"), Not(HasSubstr("rules out")))));
}

TEST(ShapeLimits, QPsOfAnEdgeThatOverflowDivideNothing) {
  Row row = pairs_row("ring", 4, 64, 0, 1);
  constexpr std::uint64_t kMany = std::uint64_t{1} << 63;
  row.case_object["qps_per_edge"] = kMany;
  row.case_object["cq_sharing"] = "per-qp";
  row.case_object["depth"] = 16U;
  const auto models = topology_models(std::vector{with_memory_of(row, 2)});
  const auto prediction = predict_resources(models.front(), {"ring", kMany}, 4);
  EXPECT_EQ(prediction->qps_per_rank, 0U);
  EXPECT_TRUE(prediction->sizes.front().memory_bytes);
}

TEST(ShapeLimits, WithoutALimitThereIsNothingToSay) {
  EXPECT_THAT(sentences_of({pairs_row("mesh", 4, 64, 0, 1)}, {}), IsEmpty());
}

TEST(Knee, IsNoneWhereRatesDoNotFall) {
  const std::vector<Row> rows{flood_row(15, 1), flood_row(63, 0.95), flood_row(255, 1.02)};
  EXPECT_EQ(knee_of_rows(rows).slow, 0U);
  EXPECT_THAT(sentences_of(rows, {}), ElementsAre("No knee up to 255 QPs of a rank over rc."));
}

TEST(Knee, LiesBeforeTheFirstOfAllSlowerOnesAndRulesShapesOut) {
  const std::vector<Row> rows{flood_row(15, 1), flood_row(63, 0.7), flood_row(127, 0.98),
                              flood_row(255, 0.6), flood_row(1023, 0.3)};
  const Knee knee = knee_of_rows(rows);
  EXPECT_EQ(knee.fast, 127U);
  EXPECT_EQ(knee.slow, 255U);
  EXPECT_THAT(sentences_of(rows, {}),
              ElementsAre("Knee over rc: a rank is slower with 255 QPs than with 127, which rules "
                          "out mesh from 256 ranks; no other shape up to 1048576 ranks."));
}

TEST(Knee, IsToldAsNotDecidedWhereRepetitionsDisagree) {
  EXPECT_THAT(sentences_of({flood_row(15, 1, 0), flood_row(15, 1, 1), flood_row(63, 0.5, 0),
                            flood_row(63, 1, 1)},
                           {}),
              ElementsAre("No knee up to 15 QPs of a rank over rc; up to 63 some repetitions are "
                          "10 % lower and others are not."));
}

TEST(Knee, IsNotDecidedByAnotherNumberOfRanks) {
  std::vector<Row> rows{flood_row(15, 1, 0), flood_row(15, 1, 1), flood_row(63, 0.5, 0),
                        flood_row(63, 1, 1), flood_row(15, 1),    flood_row(63, 1)};
  for (Row& row : std::span(rows).last(2)) {
    row.topology->ranks = 4;
    row.topology->qps_per_rank.assign(4, row.topology->qps_per_rank.front());
    row.case_object["ranks"] = 4;
    row.name += "/ranks:4";
  }
  EXPECT_TRUE(knee_of_rows(rows).undecided());
}

/// Its rate is that of its centre's port.
TEST(Knee, IsNotAsStarsHaveIt) {
  Row star = flood_row(63, 0.1);
  star.topology->qps_per_rank = {63, 1};
  EXPECT_EQ(knee_of_rows({flood_row(15, 1), flood_row(31, 1), star}).most, 31U);
}

TEST(Knee, IsNotMadeOfOneSlowRepetition) {
  EXPECT_EQ(knee_of_rows({flood_row(15, 1, 0), flood_row(15, 1, 1), flood_row(63, 0.5, 0),
                          flood_row(63, 1, 1)})
                .slow,
            0U);
  EXPECT_EQ(knee_of_rows({flood_row(15, 1, 0), flood_row(15, 0.5, 1), flood_row(63, 0.5, 0),
                          flood_row(63, 0.5, 1)})
                .slow,
            0U);
}

TEST(Knee, IsNotKnownOfOneNumberOfQPsNorOfSharedCores) {
  EXPECT_THAT(sentences_of({flood_row(15, 1)}, {}),
              ElementsAre(StartsWith("Whether there is a knee over rc is not known")));
  std::vector<Row> rows{flood_row(15, 1), flood_row(63, 0.5)};
  for (Row& row : rows) row.topology->yielding = true;
  EXPECT_EQ(knee_of_rows(rows).slow, 0U);
  EXPECT_THAT(sentences_of(rows, {}), ElementsAre(HasSubstr("is not known")));
}

TEST(LeastMaxQp, IsThatOfTheDeviceWithLeast) {
  nlohmann::ordered_json context = topology_context(4);
  context["rdmameter"]["ranks"][2]["max_qp"] = 100U;
  EXPECT_EQ(least_max_qp(context), 100U);
  EXPECT_EQ(least_max_qp({}), std::nullopt);
  EXPECT_EQ(
      least_max_qp(nlohmann::ordered_json::parse(R"({"rdmameter":{"ranks":[1,{"max_qp":"x"}]}})")),
      std::nullopt);
}

}  // namespace
}  // namespace rdmameter
