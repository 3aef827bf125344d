// SPDX-License-Identifier: Apache-2.0
// How often do comparisons of two files of identical code fail, and how often is a change found?
// Simulated, with seeds; rates are judged by the lower end of their 99 % interval.
#include <gtest/gtest.h>

#include <algorithm>

#include "reports/compare/comparison.h"
#include "tests/reports/compare/simulated_files.h"

namespace rdmameter {
namespace {

int failed_sweeps(std::uint32_t seed, const Machine& machine, int sweeps) {
  Laboratory laboratory(seed);
  int failed = 0;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const auto [base, other] = laboratory.files(machine);
    failed += compare_files(base, other, {}).conclusion == Conclusion::fail ? 1 : 0;
  }
  return failed;
}

void expect_few_false_alarms(const Machine& machine) {
  for (const std::uint32_t seed : {1U, 2U}) {
    const int failed = failed_sweeps(seed, machine, kSweeps);
    EXPECT_LE(at_least(failed, kSweeps), 0.05)
        << failed << " of " << kSweeps << " sweeps of " << machine.cases << ", seed " << seed;
  }
}

TEST(FalseAlarms, OfExchangeableRunsAreFew) {
  expect_few_false_alarms({.batches = 5, .runs = 1});
  expect_few_false_alarms({.batches = 10, .runs = 1});
}

TEST(FalseAlarms, OfHeavyTailsAreFew) {
  expect_few_false_alarms({.batches = 5, .runs = 1, .shape = heavy});
}

TEST(FalseAlarms, OfTwoModesAreFew) {
  expect_few_false_alarms({.batches = 5, .runs = 1, .shape = two_modes});
}

TEST(FalseAlarms, OfCasesWithUnequalNoiseAreFew) {
  expect_few_false_alarms({.batches = 5, .runs = 1, .unequal = true});
}

TEST(FalseAlarms, OfRepetitionsThatFollowEachOtherAreFew) {
  expect_few_false_alarms(
      {.batches = 5, .runs = 1, .repetitions = 5, .repetition = 0.05, .correlation = 0.8});
}

TEST(FalseAlarms, OfOneBatchASideThatAllCasesShareAreFew) {
  expect_few_false_alarms({.runs = 5, .common = 0.03});
}

TEST(FalseAlarms, OfOneBatchASideThatEachCaseHasItselfAreFew) {
  expect_few_false_alarms({.runs = 5, .by_case = 0.03});
}

TEST(FalseAlarms, OfFewerCasesAreFew) {
  for (const std::size_t cases : {1U, 6U, 30U}) {
    expect_few_false_alarms({.cases = cases, .batches = 5, .runs = 1});
    expect_few_false_alarms({.cases = cases, .runs = 5, .common = 0.03});
    expect_few_false_alarms({.cases = cases, .runs = 5, .by_case = 0.03});
  }
}

/// In how many of the sweeps does case 0 alone fail?
int found(std::uint32_t seed, const Machine& machine, const Slowdowns& slower, int sweeps) {
  Laboratory laboratory(seed);
  int found = 0;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const auto [base, other] = laboratory.files(machine, slower);
    const Comparison comparison = compare_files(base, other, {});
    const CaseComparison& worst = comparison.cases.front();
    found += worst.verdict == CaseVerdict::fail && worst.name == "case0" ? 1 : 0;
  }
  return found;
}

/// Of 2 % between runs in all, as much from batches as from runs.
Machine own_batches(std::size_t batches) {
  return {.batches = batches, .runs = 1, .run = 0.014, .common = 0.01, .by_case = 0.01};
}

TEST(Power, FivePercentInOneCaseOfAHundredAreFoundByTenRuns) {
  EXPECT_GE(found(3, own_batches(10), {1.05, 1.05, 1}, kSweeps), kSweeps * 80 / 100);
}

TEST(Power, FivePercentInOneCaseOfAHundredAreFoundByTwentyRuns) {
  EXPECT_GE(found(4, own_batches(20), {1.05, 1.05, 1}, kSweeps), kSweeps * 95 / 100);
}

TEST(Power, TenPercentInOneCaseOfAHundredAreFoundByFiveRuns) {
  EXPECT_GE(found(5, own_batches(5), {1.10, 1.10, 1}, kSweeps), kSweeps * 90 / 100);
}

TEST(Power, TenTimesSlowerFailsInOneBatchOfFiveRuns) {
  EXPECT_EQ(found(6, {.runs = 5}, {10, 10, 10}, 10), 10);
}

TEST(Power, AThreefoldTailFailsInOneBatchOfTenRuns) {
  EXPECT_EQ(found(7, {.runs = 10}, {1, 1, 3}, 10), 10);
}

TEST(Power, AThreefoldTailIsNamedAlthoughTheMedianIsAsBefore) {
  Laboratory laboratory(7);
  const auto [base, other] = laboratory.files({.runs = 10}, {1, 1, 3});
  const Comparison comparison = compare_files(base, other, {});
  EXPECT_EQ(comparison.conclusion, Conclusion::fail);
  EXPECT_EQ(comparison.cases[0].name, "case0");
  EXPECT_EQ(comparison.cases[0].effects[0].metric, Metric::p99);
  EXPECT_NEAR(comparison.cases[0].effects[0].ratio, 3, 0.6);
}

TEST(Power, AMeanHalfAsHighAgainFailsAlthoughThePercentilesAreAsBefore) {
  EXPECT_EQ(found(12, {.runs = 10}, {1, 1.47, 1}, 10), 10);
}

TEST(Power, ATenfoldFarTailFailsAlthoughP99IsAsBefore) {
  Laboratory laboratory(13);
  auto [base, other] = laboratory.files({.runs = 10});
  laboratory.add(base, Metric::p99_9, Metric::p99, 1.5, 1, 0.2);
  laboratory.add(other, Metric::p99_9, Metric::p99, 1.5, 10, 0.2);
  const Comparison comparison = compare_files(base, other, {});
  EXPECT_EQ(comparison.conclusion, Conclusion::fail);
  EXPECT_EQ(comparison.cases[0].name, "case0");
  EXPECT_EQ(comparison.cases[0].effects[0].metric, Metric::p99_9);
}

TEST(Pass, IsProvenOfIdenticalCodeByTenBatchesASide) {
  Laboratory laboratory(8);
  int passed = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    const auto [base, other] = laboratory.files({.batches = 10, .runs = 1});
    passed += compare_files(base, other, {}).conclusion == Conclusion::pass ? 1 : 0;
  }
  EXPECT_GE(passed, kSweeps * 90 / 100);
}

TEST(Suspicion, IsWhatRunsAloneWouldCallARegression) {
  Laboratory laboratory(9);
  const auto [base, other] = laboratory.files({.runs = 10, .run = 0.005}, {1.08, 1.08, 1});
  const Comparison comparison = compare_files(base, other, {});
  EXPECT_EQ(comparison.conclusion, Conclusion::not_proven);
  EXPECT_EQ(comparison.cases[0].name, "case0");
  EXPECT_EQ(comparison.cases[0].verdict, CaseVerdict::suspect);
  EXPECT_NE(comparison.cases[0].note.find("rdmameter ab"), std::string::npos);
}

/// The share of the intervals that hold the truth, which is that nothing changed.
void expect_coverage(const Machine& machine, double from, double to) {
  Laboratory laboratory(16);
  constexpr int kFew = 10;
  int all = 0, held = 0;
  for (int sweep = 0; sweep < kFew; ++sweep) {
    const auto [base, other] = laboratory.files(machine);
    for (const CaseComparison& one : compare_files(base, other, {}).cases)
      for (const Effect& each : one.effects) {
        const Interval interval = each.interval;
        held += interval.low <= 1 && 1 <= interval.high ? 1 : 0;
        ++all;
      }
  }
  EXPECT_GE(at_most(held, all), from) << held << " of " << all;
  EXPECT_LE(at_least(held, all), to) << held << " of " << all;
}

TEST(Intervals, OfBatchesHoldTheTruthNineteenTimesInTwenty) {
  for (const std::size_t batches : {5U, 7U, 10U})
    for (const auto shape : {normal, heavy, two_modes})
      expect_coverage({.batches = batches, .runs = 1, .shape = shape}, 0.93, 0.97);
}

TEST(Intervals, OfOneBatchASideHoldWhatBatchesDo) {
  for (const std::size_t runs : {5U, 7U, 10U})
    expect_coverage({.runs = runs, .by_case = 0.03}, 0.93, 0.99);
}

}  // namespace
}  // namespace rdmameter
