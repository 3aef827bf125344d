// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/knee.h"

#include <gtest/gtest.h>

#include <random>

namespace rdmameter {
namespace {

using Rates = std::map<std::uint64_t, std::vector<double>>;

TEST(FindKnee, IsBetweenTheLastRateThatHoldsAndTheFirstOfAllLowerOnes) {
  const Knee knee = find_knee({{1, {4, 4, 4}},
                               {8, {10, 10, 11}},
                               {64, {10, 9.5, 10}},
                               {65, {8, 8.5, 8.9}},
                               {128, {5, 5, 5}}});
  EXPECT_TRUE(knee.found());
  EXPECT_EQ(knee.fast, 64U);
  EXPECT_EQ(knee.slow, 65U);
  EXPECT_EQ(knee.best, 8U);
  EXPECT_EQ(knee.most, 128U);
}

TEST(FindKnee, ThereIsNoneWhereTheRateRisesOrStays) {
  for (const Rates& rates : {Rates{{1, {4}}, {2, {8}}, {4, {8}}}, Rates{{1, {8}}, {2, {7.3}}}}) {
    const Knee knee = find_knee(rates);
    EXPECT_FALSE(knee.found());
    EXPECT_FALSE(knee.undecided());
    EXPECT_EQ(knee.fast, knee.most);
  }
}

TEST(FindKnee, WhatRepetitionsDoNotAgreeOnWidensIt) {
  const Knee knee = find_knee({{64, {10, 10}}, {65, {10, 8}}, {66, {8, 8}}, {128, {8, 8}}});
  EXPECT_EQ(knee.fast, 64U);
  EXPECT_EQ(knee.slow, 66U);
}

TEST(FindKnee, IsUndecidedWhereTheLastNumbersAreDisputed) {
  const Knee knee = find_knee({{64, {10, 10}}, {128, {10, 5}}});
  EXPECT_FALSE(knee.found());
  EXPECT_TRUE(knee.undecided());
  EXPECT_EQ(knee.fast, 64U);
  EXPECT_EQ(knee.most, 128U);
}

TEST(FindKnee, OneOfFiveRepetitionsNeitherMakesNorHidesIt) {
  EXPECT_FALSE(find_knee({{1, {10, 10, 10, 10, 10}}, {2, {10, 10, 2, 10, 10}}}).undecided());
  const Knee knee = find_knee({{1, {10, 10, 2, 10, 10}}, {2, {5, 5, 5, 10, 5}}});
  EXPECT_EQ(knee.fast, 1U);
  EXPECT_EQ(knee.slow, 2U);
}

TEST(FindKnee, AFallThatEndsIsNone) {
  EXPECT_FALSE(find_knee({{1, {10}}, {2, {5}}, {4, {10}}}).found());
}

TEST(FindKnee, TheFewestOfEqualNumbersAreTheBest) {
  EXPECT_EQ(find_knee({{1, {5.0}}, {2, {9.0}}, {4, {9.0}}}).best, 2U);
}

TEST(FindKnee, OneNumberSaysNothing) {
  EXPECT_EQ(find_knee({{8, {10, 10}}}).fast, 0U);
  EXPECT_EQ(find_knee({}).fast, 0U);
}

/// Noise of 2 % with a stall of half the rate in every twentieth repetition.
TEST(FindKnee, NoiseMakesNone) {
  std::mt19937 engine(7);
  for (int run = 0; run < 200; ++run) {
    Rates rates;
    for (std::uint64_t number = 1; number <= 4096; number *= 2)
      for (int i = 0; i < 5; ++i)
        rates[number].push_back((engine() % 20 == 0 ? 5 : 10) * (1 + 0.02 * (engine() % 3)));
    EXPECT_FALSE(find_knee(rates).found());
  }
}

}  // namespace
}  // namespace rdmameter
