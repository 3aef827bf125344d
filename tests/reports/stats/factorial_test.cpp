// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/factorial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "reports/stats/student_t.h"

namespace rdmameter {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// What a run of these levels costs, to the nanosecond.
double cost(FactorSet levels) {
  double value = 1000;
  if ((levels & 1) != 0) value += 300;
  if ((levels & 2) != 0) value -= 40;
  if ((levels & 3) == 3) value += 25;  // together
  if ((levels & 16) != 0) value += 7;
  return value;
}

std::vector<FactorialRun> runs_of(std::size_t factors, std::uint64_t blocks, double noise,
                                  std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0, 1);
  std::vector<FactorialRun> runs;
  for (std::uint64_t block = 0; block < blocks; ++block)
    for (const FactorSet levels : factorial_design(factors))
      // The machine becomes slower from block to block, which is no effect.
      runs.push_back({levels, block,
                      cost(levels) + 100 * static_cast<double>(block) + noise * normal(random)});
  return runs;
}

double value_of(const FactorialAnalysis& analysis, FactorSet factors) {
  for (const FactorialEffect& effect : analysis.effects)
    if (effect.factors == factors) return effect.value;
  return NAN;
}

TEST(FactorialDesign, HasResolutionFiveOrBetter) {
  for (std::size_t factors = 1; factors <= kMaxFactors; ++factors) {
    const std::vector<FactorSet> design = factorial_design(factors);
    EXPECT_EQ(design.size(), factors <= 4   ? 1U << factors
                             : factors == 8 ? 64
                                            : 1U << (factors - 1));
    // Contrasts of up to four factors are balanced: so no two of one or two factors are mixed.
    for (FactorSet product = 1; product < 1U << factors; ++product) {
      if (std::popcount(product) > 4 || (factors <= 4 && product == 0)) continue;
      int sum = 0;
      for (const FactorSet levels : design)
        sum += std::popcount(product & ~levels) % 2 == 0 ? 1 : -1;
      EXPECT_EQ(sum, 0) << factors << " factors, product " << product;
    }
  }
}

TEST(FactorialDesign, TellsWhatItMixes) {
  EXPECT_THAT(aliases_of(0b0011, 4), IsEmpty());
  EXPECT_THAT(aliases_of(0b00011, 5), ElementsAre(0b11100U));
  EXPECT_THAT(aliases_of(0b00001, 5), IsEmpty());  // four others together
  EXPECT_THAT(aliases_of(0b0000'0011, 8), ElementsAre(0b0100'1100U, 0b1011'0000U));
}

TEST(FactorialAnalysis, FindsKnownCostsExactlyWithoutNoise) {
  for (const std::size_t factors : {5U, 6U, 7U, 8U}) {
    const auto analysis = analyse_factorial(runs_of(factors, 3, 0), factors);
    ASSERT_TRUE(analysis);
    EXPECT_EQ(analysis->blocks, 3U);
    EXPECT_EQ(analysis->effects.size(), factors + factors * (factors - 1) / 2);
    EXPECT_NEAR(value_of(*analysis, 1), 312.5, 1e-9);  // 300, and half of what is beside the other
    EXPECT_NEAR(value_of(*analysis, 2), -27.5, 1e-9);
    EXPECT_NEAR(value_of(*analysis, 3), 25, 1e-9);
    EXPECT_NEAR(value_of(*analysis, 16), 7, 1e-9);
    EXPECT_NEAR(value_of(*analysis, 4), 0, 1e-9);
    EXPECT_NEAR(value_of(*analysis, 5), 0, 1e-9);
  }
}

TEST(FactorialAnalysis, HoldsAllIntervalsTogetherInNineteenOfTwenty) {
  constexpr int kExperiments = 400;
  int held = 0, claimed = 0;
  for (int i = 0; i < kExperiments; ++i) {
    const auto analysis = analyse_factorial(runs_of(5, 6, 20, 100 + static_cast<unsigned>(i)), 5);
    bool all = true, none_claimed = true;
    for (const FactorialEffect& effect : analysis->effects) {
      const double truth = effect.factors == 1    ? 312.5
                           : effect.factors == 2  ? -27.5
                           : effect.factors == 3  ? 25
                           : effect.factors == 16 ? 7
                                                  : 0;
      all = all && effect.low <= truth && truth <= effect.high;
      none_claimed = none_claimed && (truth != 0 || effect.p > 0.05);
    }
    held += all;
    claimed += !none_claimed;
  }
  EXPECT_GE(held, kExperiments * 93 / 100);
  EXPECT_LE(claimed, kExperiments * 7 / 100);
}

TEST(FactorialAnalysis, IsTheOneSampleTOfTheBlocksContrasts) {
  // One factor, three blocks: its effects are 10, 12, 17.
  std::vector<FactorialRun> runs;
  for (const auto& [block, effect] : {std::pair{0U, 10.0}, {1U, 12.0}, {2U, 17.0}}) {
    runs.push_back({0, block, 5});
    runs.push_back({1, block, 5 + effect});
  }
  const auto analysis = analyse_factorial(runs, 1);
  const FactorialEffect& effect = analysis->effects.front();
  const double deviation = std::sqrt(13.0 / 3);  // sample variance 13
  EXPECT_DOUBLE_EQ(effect.value, 13);
  EXPECT_NEAR(effect.high - 13, 4.302652729911275 * deviation, 1e-6);
  EXPECT_NEAR(effect.p, 2 * student_t_above(13 / deviation, 2), 1e-12);
}

TEST(FactorialAnalysis, LeavesOutBlocksThatLackARunAndTellsWhereNoneIsWhole) {
  std::vector<FactorialRun> runs = runs_of(3, 3, 1);
  runs.erase(runs.begin() + 3);
  EXPECT_EQ(analyse_factorial(runs, 3)->blocks, 2U);
  EXPECT_FALSE(analyse_factorial(std::span(runs).first(7), 3));
}

}  // namespace
}  // namespace rdmameter
