// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "reports/stats/ranks.h"

namespace rdmameter {
namespace {

using Values = std::vector<double>;

TEST(MedianInterval, HasTheRanksOfTheSignTest) {
  // Of 100 independent values the table gives the 40th and the 61st; these, by Student's t, are
  // never further in.
  Values values;
  for (int i = 0; i < 100; ++i) values.push_back(37 * i % 100);  // 0 to 99, neighbours unlike
  const Interval bounds = median_interval(values, 0.95);
  EXPECT_NEAR(bounds.low, 39, 1);
  EXPECT_NEAR(bounds.high, 60, 1);
  EXPECT_LE(bounds.low, 39);
  EXPECT_GE(bounds.high, 60);
}

TEST(MedianInterval, OfAFewValuesHasNoBounds) {
  const Interval bounds = median_interval(Values{1, 2, 3, 2, 1}, 0.95);
  EXPECT_TRUE(std::isinf(bounds.low));
  EXPECT_TRUE(std::isinf(bounds.high));
}

TEST(MedianInterval, OfEqualValuesIsThatValue) {
  const Interval bounds = median_interval(Values(20, 5), 0.95);
  EXPECT_EQ(bounds.low, 5);
  EXPECT_EQ(bounds.high, 5);
}

TEST(MedianInterval, IsWiderWhereNeighboursAreAlike) {
  Values alike, unlike;
  for (int i = 0; i < 200; ++i) {
    alike.push_back(i < 100 ? i : 199 - i);  // up, and down again: each value twice
    unlike.push_back(37 * i % 100);
  }
  const Interval wide = median_interval(alike, 0.95), narrow = median_interval(unlike, 0.95);
  EXPECT_GT(wide.high - wide.low, 3 * (narrow.high - narrow.low));
}

/// A series in which each value keeps `kept` of what the one before deviated by.
class Series {
 public:
  explicit Series(double kept) : kept_(kept) {}

  Values draw(std::size_t count) {
    Values values(count);
    double deviation = normal_(engine_) / std::sqrt(1 - kept_ * kept_);
    for (double& value : values) {
      deviation = kept_ * deviation + normal_(engine_);
      value = 100 + deviation;
    }
    return values;
  }

 private:
  double kept_;
  std::mt19937 engine_{20261124};
  std::normal_distribution<double> normal_;
};

TEST(MedianInterval, CountsValuesByWhatTheyHaveInCommon) {
  Series independent(0), alike(0.5);
  double of_independent = 0, of_alike = 0;
  for (int round = 0; round < 100; ++round) {
    of_independent += repetitions_per_value(independent.draw(400)) / 100;
    of_alike += repetitions_per_value(alike.draw(400)) / 100;
  }
  EXPECT_NEAR(of_independent, 1.04, 0.06) << "it is never below 1";
  EXPECT_NEAR(of_alike, 3, 0.3);
}

TEST(MedianInterval, OneOutlierDoesNotHideThatNeighboursAreAlike) {
  Series alike(0.5);
  double with_outlier = 0;
  for (int round = 0; round < 100; ++round) {
    Values values = alike.draw(400);
    values[200] = 1e6;
    with_outlier += repetitions_per_value(values) / 100;
  }
  EXPECT_GT(with_outlier, 2.5);
}

TEST(MedianInterval, HoldsTheMedianAsOftenAsItSays) {
  constexpr int kRounds = 2000;
  for (const double kept : {0.0, 0.5})
    for (const std::size_t count : {20UL, 50UL, 200UL}) {
      Series series(kept);
      int held = 0;
      for (int round = 0; round < kRounds; ++round) {
        const Interval bounds = median_interval(series.draw(count), 0.95);
        held += bounds.low <= 100 && 100 <= bounds.high;
      }
      EXPECT_GE(held, 0.95 * kRounds) << kept << ", " << count;
    }
}

}  // namespace
}  // namespace rdmameter
