// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "reports/stats/significance.h"

namespace rdmameter {
namespace {

using testing::ElementsAre;
using Families = std::vector<std::vector<double>>;

TEST(Simes, IsTheBestOfTheOrderedPValues) {
  EXPECT_DOUBLE_EQ(simes({0.04, 0.01, 0.9}), 0.03);
  EXPECT_DOUBLE_EQ(simes({0.02, 0.02, 0.02}), 0.02);
  EXPECT_DOUBLE_EQ(simes({}), 1);
}

TEST(Families, NameTheMemberThatDiffers) {
  const auto results = judge_families(Families{{0.5, 0.0001, 0.4}, {0.3, 0.6, 0.2}}, 0.05);
  EXPECT_THAT(results[0].significant, ElementsAre(false, true, false));
  EXPECT_THAT(results[1].significant, ElementsAre(false, false, false));
  EXPECT_DOUBLE_EQ(results[0].q, 0.0006);
}

TEST(Families, HoldMembersToTheShareOfFamiliesSelected) {
  // 0.02 of its own family is significant where all families are selected, not where one of two is.
  EXPECT_TRUE(judge_families(Families{{0.001, 0.02}, {0.001, 0.02}}, 0.025)[0].significant[1]);
  EXPECT_FALSE(judge_families(Families{{0.001, 0.02}, {0.9, 0.9}}, 0.025)[0].significant[1]);
}

TEST(Families, OfWhichOneIsJustAtTheRateAreSignificant) {
  EXPECT_TRUE(judge_families(Families{{0.05}}, 0.05)[0].significant[0]);
}

TEST(Families, WithoutMembersAreNeverSelected) {
  const auto results = judge_families(Families{{}, {0.001}}, 0.05);
  EXPECT_THAT(results[0].significant, ElementsAre());
  EXPECT_DOUBLE_EQ(results[0].q, 1);
  EXPECT_TRUE(judge_families({}, 0.05).empty());
}

TEST(Families, WhereNothingDiffersFailNoMoreSweepsThanTheRate) {
  std::mt19937 engine(11);
  std::uniform_real_distribution<double> uniform;
  constexpr int kSweeps = 2000;
  int failed = 0;
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    Families sweep_of(100, std::vector<double>(4));
    for (auto& family : sweep_of)
      for (double& p : family) p = uniform(engine);
    bool any = false;
    for (const FamilyResult& result : judge_families(sweep_of, 0.05))
      for (const bool significant : result.significant) any |= significant;
    failed += any ? 1 : 0;
  }
  EXPECT_LE(failed, kSweeps * 0.065);
  EXPECT_GE(failed, kSweeps * 0.035);
}

}  // namespace
}  // namespace rdmameter
