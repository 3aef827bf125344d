// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/student_t.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rdmameter {
namespace {

TEST(StudentT, IsThatOfTheTables) {
  EXPECT_NEAR(student_t_above(2.306004135204166, 8), 0.025, 1e-12);
  EXPECT_NEAR(student_t_above(-1, 1), 0.75, 1e-12);
  EXPECT_NEAR(student_t_above(0, 3), 0.5, 1e-12);
}

TEST(StudentT, OfManyDegreesIsNormal) {
  constexpr double kInfinite = std::numeric_limits<double>::infinity();
  EXPECT_NEAR(student_t_above(1.959963984540054, kInfinite), 0.025, 1e-12);
  EXPECT_NEAR(student_t_above(3, 1e7), student_t_above(3, kInfinite), 1e-8);
}

TEST(StudentT, OfAnInfiniteStatisticIsCertainAndOfNoneSaysNothing) {
  EXPECT_EQ(student_t_above(INFINITY, 8), 0);
  EXPECT_EQ(student_t_above(-INFINITY, 8), 1);
  EXPECT_EQ(student_t_above(NAN, 8), 1);
}

TEST(StudentT, QuantilesLeadBackToTheirProbabilities) {
  for (const double degrees : {1.0, 2.5, 8.0, 1e3})
    for (const double above : {1e-9, 6e-5, 0.025, 0.4, 0.8})
      EXPECT_NEAR(student_t_above(student_t_quantile(above, degrees), degrees) / above, 1, 1e-9);
}

}  // namespace
}  // namespace rdmameter
