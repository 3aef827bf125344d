// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "reports/stats/ranks.h"
#include "reports/stats/sample.h"
#include "reports/stats/significance.h"

namespace rdmameter {
namespace {

using Values = std::vector<double>;

double rank_sum(const Values& pooled, const std::vector<bool>& is_y) {
  double sum = 0;
  for (std::size_t i = 0; i < pooled.size(); ++i) {
    if (!is_y[i]) continue;
    const auto below = std::ranges::count_if(pooled, [&](double v) { return v < pooled[i]; });
    const auto tied = std::ranges::count(pooled, pooled[i]);
    sum += static_cast<double>(below) + static_cast<double>(tied + 1) / 2;
  }
  return sum;
}

/// Deals the pooled values out in every way there is.
MannWhitney by_enumeration(const Values& x, const Values& y) {
  Values pooled = x;
  pooled.insert(pooled.end(), y.begin(), y.end());
  std::vector<bool> is_y(x.size(), false);
  is_y.resize(pooled.size(), true);
  const double observed = rank_sum(pooled, is_y);
  double all = 0, greater = 0, less = 0;
  do {
    const double sum = rank_sum(pooled, is_y);
    ++all;
    greater += sum >= observed ? 1 : 0;
    less += sum <= observed ? 1 : 0;
  } while (std::next_permutation(is_y.begin(), is_y.end()));
  return {greater / all, less / all};
}

TEST(MannWhitney, IsThatOfEnumerationWithAndWithoutTies) {
  std::mt19937 engine(7);
  for (int round = 0; round < 40; ++round) {
    const unsigned distinct = round % 2 == 0 ? 4 : 1000;  // few distinct values: many ties
    Values x(1 + engine() % 6), y(1 + engine() % 6);
    for (Values* side : {&x, &y})
      for (double& value : *side) value = engine() % distinct;
    const MannWhitney expected = by_enumeration(x, y), got = mann_whitney(x, y);
    EXPECT_NEAR(got.greater, expected.greater, 1e-12);
    EXPECT_NEAR(got.less, expected.less, 1e-12);
  }
}

TEST(MannWhitney, OfSeparatedSidesIsTheLeastThereIs) {
  const Values low{1, 2, 3, 4, 5}, high{6, 7, 8, 9, 10};
  EXPECT_NEAR(mann_whitney(low, high).greater, 1 / 252.0, 1e-12);
  EXPECT_NEAR(mann_whitney(high, low).less, 1 / 252.0, 1e-12);
}

TEST(MannWhitney, OfEqualOrEmptySidesSaysNothing) {
  EXPECT_EQ(mann_whitney(Values{3, 3, 3}, Values{3, 3, 3}).greater, 1);
  EXPECT_EQ(mann_whitney(Values{3, 3, 3}, Values{3, 3, 3}).less, 1);
  EXPECT_EQ(mann_whitney({}, Values{3}).greater, 1);
}

TEST(MannWhitney, BeyondTheExactLimitAgreesWithItWithinAThousandth) {
  std::mt19937 engine(11);
  Values x(32), y(32);
  for (double& value : x) value = engine() % 200;
  for (double& value : y) value = engine() % 200 + 20;
  const double exact = mann_whitney(x, y).greater;
  x.push_back(median(x));  // one more, in the middle: hardly a change, but no longer exact
  EXPECT_NEAR(mann_whitney(x, y).greater, exact, 0.005);
}

TEST(HodgesLehmann, IsTheMedianOfAllDifferences) {
  std::mt19937 engine(3);
  for (int round = 0; round < 30; ++round) {
    Values x(1 + engine() % 9), y(1 + engine() % 9), differences;
    for (Values* side : {&x, &y})
      for (double& value : *side) value = engine() % 1000;
    for (const double from : x)
      for (const double to : y) differences.push_back(to - from);
    std::ranges::sort(differences);
    const std::size_t half = differences.size() / 2;
    const double middle = differences.size() % 2 == 1
                              ? differences[half]
                              : (differences[half - 1] + differences[half]) / 2;
    EXPECT_NEAR(hodges_lehmann_shift(x, y), middle, 1e-9);
  }
}

TEST(HodgesLehmann, OfVeryManyReplicatesIsThatOfTheirQuantiles) {
  std::mt19937 engine(9);
  std::normal_distribution<double> noise(0, 0.03);
  Values x(5000), y(3000);
  for (double& value : x) value = noise(engine);
  for (double& value : y) value = 0.08 + noise(engine);
  EXPECT_NEAR(hodges_lehmann_shift(x, y), 0.08, 0.003);
}

TEST(HodgesLehmann, OfVeryManyReplicatesDoesNotDependOnTheirOrder) {
  Values in_turn, sorted;
  for (int i = 0; i < 1024; ++i) in_turn.push_back(i % 2 == 0 ? 100 : 200 + i);
  sorted = in_turn;
  std::ranges::sort(sorted);
  const Values y(300, 150);
  EXPECT_EQ(hodges_lehmann_shift(in_turn, y), hodges_lehmann_shift(sorted, y));
}

TEST(HodgesLehmann, IsHardlyMovedByOneWildReplicate) {
  const Values x{100, 101, 99, 100, 102}, y{110, 109, 111, 110, 5000};
  EXPECT_NEAR(hodges_lehmann_shift(x, y), 10, 1);
}

TEST(Bootstrap, IsTheSameForTheSameSeed) {
  const Values values{3, 1, 2, 5, 4};
  EXPECT_EQ(median_interval(values, 0.95, 1).low, median_interval(values, 0.95, 1).low);
  EXPECT_EQ(median_interval(values, 0.95, 1).high, median_interval(values, 0.95, 1).high);
}

TEST(Bootstrap, OfAMedianLiesWithinTheValues) {
  const Values values{3, 1, 2, 5, 4};
  const Interval interval = median_interval(values, 0.95, 1);
  EXPECT_GE(interval.low, 1);
  EXPECT_LE(interval.high, 5);
  EXPECT_LT(interval.low, interval.high);
}

TEST(BenjaminiHochberg, AdjustsAsInTheirPaper) {
  // Benjamini and Hochberg 1995, section 3.2: four of fifteen are significant at 5 %.
  const Values p{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0};
  const Values q = benjamini_hochberg(p);
  EXPECT_EQ(std::ranges::count_if(q, [](double value) { return value <= 0.05; }), 4);
  EXPECT_NEAR(q[3], 0.0095 * 15 / 4, 1e-12);
}

TEST(BenjaminiHochberg, KeepsTheOrderOfItsInputAndNeverExceedsOne) {
  const Values q = benjamini_hochberg(Values{0.9, 0.01, 0.95});
  EXPECT_NEAR(q[1], 0.03, 1e-12);
  EXPECT_NEAR(q[0], 0.95, 1e-12);
  EXPECT_NEAR(q[2], 0.95, 1e-12);
  EXPECT_TRUE(benjamini_hochberg({}).empty());
}

TEST(Sample, MedianAndDeviationOfAFew) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_NEAR(standard_deviation(Values{1, 2, 3, 4}), 1.2909944487358056, 1e-12);
  EXPECT_NEAR(standard_deviation(Values{1, 3}), std::sqrt(2), 1e-12);
  EXPECT_EQ(standard_deviation(Values{1}), 0);
}

}  // namespace
}  // namespace rdmameter
