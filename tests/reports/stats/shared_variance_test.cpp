// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "reports/stats/student_t.h"

namespace rdmameter {
namespace {

using Estimates = std::vector<VarianceEstimate>;

/// Of cases with `degrees` each, whose true deviations are spread by `spread` (of the logarithm).
Estimates estimates(std::size_t count, int degrees, double spread) {
  std::mt19937 engine(3);
  std::normal_distribution<double> normal;
  Estimates list;
  for (std::size_t i = 0; i < count; ++i) {
    const double deviation = 0.02 * std::exp(spread * normal(engine));
    double squares = 0;
    for (int k = 0; k < degrees; ++k) squares += std::pow(deviation * normal(engine), 2);
    list.push_back({squares / degrees, static_cast<double>(degrees)});
  }
  return list;
}

TEST(SharedVariance, OfLikeCasesIsTheirsAndWorthMoreThanAnyOfThem) {
  const VarianceEstimate shared = shared_variance(estimates(500, 8, 0));
  EXPECT_NEAR(std::sqrt(shared.variance), 0.02, 0.001);
  EXPECT_GT(shared.degrees, 50);
}

TEST(SharedVariance, OfUnlikeCasesIsWorthLittle) {
  EXPECT_LT(shared_variance(estimates(500, 8, 1)).degrees, 4);
}

TEST(SharedVariance, OfOneCaseIsItsOwnAndAddsNothing) {
  const VarianceEstimate shared = shared_variance(Estimates{{4, 8}});
  EXPECT_EQ(shared.variance, 4);
  EXPECT_EQ(shared.degrees, 0);
}

TEST(SharedVariance, OfNothingOrOfNoSpreadIsNothing) {
  EXPECT_EQ(shared_variance({}).degrees, 0);
  EXPECT_EQ(shared_variance(Estimates{{1, 0}, {2, 0}}).degrees, 0);
  EXPECT_EQ(shared_variance(Estimates{{0, 8}, {0, 8}}).variance, 0);
}

TEST(SharedVariance, BearsACaseWithoutSpreadAmongOthers) {
  Estimates list = estimates(20, 8, 0);
  list.push_back({0, 8});
  EXPECT_TRUE(std::isfinite(shared_variance(list).variance));
  EXPECT_GT(shared_variance(list).variance, 0);
}

TEST(ModeratedVariance, IsNeverBelowTheSharedOneNorBelowItsOwn) {
  EXPECT_EQ(moderated({1, 8}, {4, 10}).variance, 4);
  EXPECT_EQ(moderated({9, 8}, {4, 10}).variance, 9);
  EXPECT_EQ(moderated({9, 8}, {4, 10}).degrees, 18);
}

}  // namespace
}  // namespace rdmameter
