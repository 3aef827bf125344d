// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "reports/stats/significance.h"

namespace rdmameter {
namespace {

TEST(FisherExact, IsThatOfTheTeaTasting) {
  EXPECT_NEAR(fisher_exact({1, 4}, {3, 4}), 17.0 / 70, 1e-12);
}

TEST(FisherExact, OfTwoOfThreeRepetitionsFailingInFiveRunsIsOneInTenThousand) {
  EXPECT_NEAR(fisher_exact({0, 15}, {10, 15}), 3003.0 / 30045015, 1e-12);
}

TEST(FisherExact, OfNoFailureOrNothingMeasuredIsOne) {
  EXPECT_EQ(fisher_exact({0, 15}, {0, 15}), 1);
  EXPECT_EQ(fisher_exact({3, 15}, {0, 15}), 1);
  EXPECT_EQ(fisher_exact({0, 0}, {3, 3}), 1);
  EXPECT_EQ(fisher_exact({0, 3}, {0, 0}), 1);
}

TEST(FisherExact, OfAllFailingOnBothSidesIsOne) {
  EXPECT_NEAR(fisher_exact({5, 5}, {5, 5}), 1, 1e-12);
}

}  // namespace
}  // namespace rdmameter
