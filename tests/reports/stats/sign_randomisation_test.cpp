// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>

#include "reports/stats/significance.h"

namespace rdmameter {
namespace {

using Members = std::vector<std::vector<double>>;

TEST(SignRandomisation, OfPairsThatAreAllWorseIsTheLeastThereIs) {
  EXPECT_DOUBLE_EQ(sign_randomisation(Members{std::vector<double>(12, 0.1)}), 1.0 / 4096);
}

TEST(SignRandomisation, OfFourMembersCanBeAsLowAsOfOne) {
  const Members members{std::vector<double>(12, 0.1), std::vector<double>(12, 3),
                        std::vector<double>(12, 0.01), std::vector<double>(12, 1)};
  EXPECT_DOUBLE_EQ(sign_randomisation(members), 1.0 / 4096);
}

TEST(SignRandomisation, OfPairsThatAreBetterIsNearOneAndOfNoDifferenceOne) {
  EXPECT_DOUBLE_EQ(sign_randomisation(Members{std::vector<double>(6, -1)}), 1);
  EXPECT_DOUBLE_EQ(sign_randomisation(Members{std::vector<double>(6, 0)}), 1);
  EXPECT_DOUBLE_EQ(sign_randomisation({}), 1);
}

TEST(SignRandomisation, DrawnPatternsAgreeWithAllOfThem) {
  std::mt19937 engine(5);
  std::normal_distribution<double> normal;
  std::vector<double> few, many;
  for (int i = 0; i < 20; ++i) few.push_back(normal(engine) + 0.4);
  many = few;
  many.push_back(0);  // turning it round changes nothing
  EXPECT_NEAR(sign_randomisation(Members{many}), sign_randomisation(Members{few}), 0.001);
}

TEST(SignRandomisation, DrawnPatternsReachMoreThanSixtyFourPairs) {
  std::vector<double> late(70, 0);
  for (std::size_t i = 64; i < late.size(); ++i) late[i] = 1;
  EXPECT_NEAR(sign_randomisation(Members{late}), 1.0 / 64, 0.001);
}

TEST(SignRandomisation, OfAHundredCasesTakesTwelvePairs) {
  EXPECT_EQ(pairs_for(0.025 / 100), 12U);
  EXPECT_EQ(pairs_for(0.025 / 500), 15U);
  EXPECT_EQ(pairs_for(1), 1U);
}

}  // namespace
}  // namespace rdmameter
