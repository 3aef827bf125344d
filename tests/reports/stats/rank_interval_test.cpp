// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "reports/stats/ranks.h"

namespace rdmameter {
namespace {

using Values = std::vector<double>;

TEST(RankInterval, LeavesOutWhatTheTablesSay) {
  EXPECT_EQ(rank_of_bound(5, 5, 0.95), 3U);
  EXPECT_EQ(rank_of_bound(7, 7, 0.95), 9U);
  EXPECT_EQ(rank_of_bound(10, 10, 0.95), 24U);
}

TEST(RankInterval, OfFewerThanFourASideIsWithoutBounds) {
  EXPECT_EQ(rank_of_bound(3, 3, 0.95), 0U);
  EXPECT_EQ(rank_of_bound(1, 64, 0.95), 1U);
  EXPECT_EQ(rank_of_bound(100, 1, 0.95), 2U);
  const Interval bounds = rank_interval(Values{1, 2, 3}, Values{1, 2, 3}, 0.95);
  EXPECT_TRUE(std::isinf(bounds.low));
  EXPECT_TRUE(std::isinf(bounds.high));
}

TEST(RankInterval, ByTheNormalDistributionGoesOnWhereTheExactOneEnds) {
  const double exact = static_cast<double>(rank_of_bound(32, 32, 0.95));
  const double approximate = static_cast<double>(rank_of_bound(33, 32, 0.95));
  EXPECT_NEAR(approximate / exact, 33.0 / 32, 0.02);
  // ab/2 - 1.95996 sqrt(ab(a+b+1)/12)
  EXPECT_EQ(rank_of_bound(100, 100, 0.95), 4197U);
  EXPECT_EQ(rank_of_bound(50, 80, 0.95), 1590U);
}

TEST(RankInterval, IsOfSortedDifferences) {
  const Values x{0, 10, 20, 30}, y{1, 11, 21, 31};
  const Interval bounds = rank_interval(x, y, 0.95);  // of 16 differences the outermost
  EXPECT_EQ(bounds.low, -29);
  EXPECT_EQ(bounds.high, 31);
}

/// The share of intervals that hold the true change.
template <class Draw>
double coverage(std::size_t runs, Draw draw) {
  constexpr int kRounds = 4000;
  int held = 0;
  for (int round = 0; round < kRounds; ++round) {
    Values x(runs), y(runs);
    for (double& value : x) value = draw();
    for (double& value : y) value = draw() + 1;
    const Interval bounds = rank_interval(x, y, 0.95);
    held += bounds.low <= 1 && 1 <= bounds.high ? 1 : 0;
  }
  return static_cast<double>(held) / kRounds;
}

TEST(RankInterval, HoldsTheTruthNineteenTimesInTwentyWithFewRunsAndHeavyTails) {
  std::mt19937 engine(2);
  std::normal_distribution<double> normal;
  std::student_t_distribution<double> heavy(2);
  for (const std::size_t runs : {5U, 7U, 10U}) {
    const double with_normal = coverage(runs, [&] { return normal(engine); });
    const double with_tails = coverage(runs, [&] { return heavy(engine); });
    for (const double share : {with_normal, with_tails}) {
      EXPECT_GE(share, 0.93) << runs;
      EXPECT_LE(share, 0.98) << runs;
    }
  }
}

}  // namespace
}  // namespace rdmameter
