// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/batch_change.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rdmameter {
namespace {

constexpr double kPrior = 0.03;

/// What a simulated sweep is made of; standard deviations are of logarithms.
struct Noise {
  std::size_t batches = 1, runs = 5;  ///< of each side; runs are of each batch
  double run = 0.01, common = 0, by_case = 0;
};

class Simulator {
 public:
  explicit Simulator(std::uint32_t seed) : engine_(seed) {}

  double normal(double deviation) { return deviation * normal_(engine_); }

  std::vector<CaseSides> sweep(std::size_t cases, const Noise& noise) {
    std::vector<CaseSides> sides(cases);
    for (BatchValues CaseSides::*side : {&CaseSides::base, &CaseSides::other})
      for (std::size_t batch = 0; batch < noise.batches; ++batch) {
        const double common = normal(noise.common);
        for (CaseSides& one : sides) (one.*side).push_back(runs(common, noise));
      }
    return sides;
  }

 private:
  std::vector<double> runs(double common, const Noise& noise) {
    const double level = common + normal(noise.by_case);
    std::vector<double> values(noise.runs);
    for (double& value : values) value = 8 + level + normal(noise.run);
    return values;
  }

  std::mt19937 engine_;
  std::normal_distribution<double> normal_;
};

void slow_down(CaseSides& one, double factor) {
  for (auto& batch : one.other)
    for (double& value : batch) value += std::log(factor);
}

TEST(BatchChange, OfOneBatchASideMustBeBeyondWhatBatchesDo) {
  std::vector<CaseSides> sweep = Simulator(1).sweep(100, {});
  slow_down(sweep[0], 1.08);
  slow_down(sweep[1], 1.25);
  slow_down(sweep[2], 1 / 1.25);
  const BatchChanges changes = batch_changes(sweep, kPrior);
  EXPECT_FALSE(changes.batches_are_replicates);
  EXPECT_LT(changes.cases[0].p_worse_runs, 1e-6) << "the runs alone are certain";
  EXPECT_GT(changes.cases[0].p_worse, 0.005);
  EXPECT_NEAR(changes.cases[0].batch_error, 0.03 * std::sqrt(2), 1e-3);
  EXPECT_LT(changes.cases[1].p_worse, 1e-5);
  EXPECT_LT(changes.cases[2].p_better, 1e-5);
}

TEST(BatchChange, OfBatchesOfTheirOwnTakesEachForAReplicate) {
  std::vector<CaseSides> sweep = Simulator(2).sweep(100, {.batches = 5, .runs = 2});
  slow_down(sweep[0], 1.08);
  const BatchChanges changes = batch_changes(sweep, kPrior);
  EXPECT_TRUE(changes.batches_are_replicates);
  EXPECT_EQ(changes.cases[0].batch_error, 0);
  EXPECT_LT(changes.cases[0].p_worse, 1e-6);
  EXPECT_GT(changes.cases[1].p_worse, 1e-3);
}

TEST(BatchChange, WhatAllCasesOfABatchShareDoesNotHideACaseThatChanges) {
  std::vector<CaseSides> sweep = Simulator(3).sweep(100, {.batches = 5, .runs = 1, .common = 0.05});
  slow_down(sweep[0], 1.1);
  EXPECT_LT(batch_changes(sweep, kPrior).cases[0].p_worse, 1e-5);
}

TEST(BatchChange, OfAllCasesAlikeIsHeldAgainstWhatBatchesDo) {
  std::vector<CaseSides> sweep = Simulator(4).sweep(100, {.batches = 5, .runs = 1});
  for (CaseSides& one : sweep) slow_down(one, 1.2);
  EXPECT_LT(batch_changes(sweep, kPrior).cases[0].p_worse, 1e-4);
}

TEST(BatchChange, OfBatchesThatHappenToAgreeIsStillHeldAgainstThePrior) {
  const Noise quiet{.batches = 5, .runs = 1, .run = 1e-4};
  std::vector<CaseSides> sweep = Simulator(11).sweep(1, quiet);
  slow_down(sweep[0], 1.02);
  const BatchChanges changes = batch_changes(sweep, kPrior);
  EXPECT_TRUE(changes.batches_are_replicates);
  EXPECT_GT(changes.cases[0].p_worse, 0.01);
}

TEST(BatchChange, LearnsHowBatchesDiffer) {
  const Noise noise{.batches = 4, .runs = 5, .common = 0.01, .by_case = 0.06};
  const BatchChanges changes = batch_changes(Simulator(5).sweep(100, noise), kPrior);
  EXPECT_FALSE(changes.batches_are_replicates);
  EXPECT_GT(changes.by_case, 0.055);
  EXPECT_LT(changes.by_case, 0.085)
      << "what is learnt, or the spread of the changes if that is more";
  EXPECT_LT(changes.common, 0.03);
}

TEST(BatchChange, FindsTheVarianceOfACaseBesideWhatAllShare) {
  constexpr double kByCase = 0.06;
  double squares = 0;
  int count = 0;
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    const Noise noise{.batches = 5, .runs = 1, .run = 0, .common = 0.05, .by_case = kByCase};
    for (const CaseChange& one : batch_changes(Simulator(seed).sweep(10, noise), kPrior).cases) {
      squares += one.between_runs * one.between_runs;
      ++count;
    }
  }
  // What all share is taken for the median of the cases, which leaves 4 % too much of ten.
  EXPECT_NEAR(squares / count / (kByCase * kByCase), 1.04, 0.04);
}

TEST(BatchChange, IsNeverSurerThanTheCasesSpread) {
  const BatchChanges changes = batch_changes(Simulator(6).sweep(100, {.by_case = 0.06}), kPrior);
  EXPECT_GT(changes.by_case, 0.045);
}

TEST(BatchChange, OfHalfOfAllCasesMuchSlowerIsStillSeen) {
  std::vector<CaseSides> sweep = Simulator(7).sweep(100, {});
  for (std::size_t i = 0; i < 50; ++i) slow_down(sweep[i], 10);
  EXPECT_LT(batch_changes(sweep, kPrior).cases[0].p_worse, 1e-6);
}

TEST(BatchChange, OfARunASideRestsOnThePrior) {
  std::vector<CaseSides> sweep = Simulator(8).sweep(1, {.runs = 1});
  slow_down(sweep[0], 2);
  const BatchChanges changes = batch_changes(sweep, kPrior);
  EXPECT_LT(changes.cases[0].p_worse, 1e-6);
  EXPECT_GT(batch_changes(Simulator(8).sweep(1, {.runs = 1}), kPrior).cases[0].p_worse, 0.05);
}

TEST(BatchChange, BearsCasesThatABatchOrASideLacks) {
  std::vector<CaseSides> sweep = Simulator(9).sweep(12, {.batches = 6, .runs = 1});
  sweep[0].other.clear();
  sweep[1].base[2].clear();
  const BatchChanges changes = batch_changes(sweep, kPrior);
  EXPECT_FALSE(changes.cases[0].known);
  EXPECT_EQ(changes.cases[0].p_worse, 1);
  EXPECT_TRUE(changes.cases[1].known);
  EXPECT_TRUE(changes.batches_are_replicates);
  EXPECT_TRUE(batch_changes({}, kPrior).cases.empty());
}

TEST(BatchChange, OfValuesThatNeverDifferIsNone) {
  const CaseSides constant{.base = {{8, 8, 8, 8, 8}}, .other = {{8, 8, 8, 8, 8}}};
  const BatchChanges changes = batch_changes({constant, constant}, kPrior);
  EXPECT_NEAR(changes.cases[0].p_worse, 0.5, 1e-9);
}

}  // namespace
}  // namespace rdmameter
