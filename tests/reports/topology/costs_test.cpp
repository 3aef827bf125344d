// SPDX-License-Identifier: Apache-2.0
// Costs that are known are found again, and what cannot be told is not.
#include "reports/topology/costs.h"

#include <gtest/gtest.h>

#include "reports/stats/student_t.h"
#include "tests/reports/topology/noisy_costs.h"

namespace rdmameter {
namespace {

TEST(CostFit, IsExactWithoutNoise) {
  const CostFit fit(measured(kTruth, {.of_repetition = 0, .of_point = 0}, 1));
  EXPECT_NEAR(fit.costs().alpha_ns, 2'000, 1e-6);
  EXPECT_NEAR(fit.costs().per_hop_ns, 3'000, 1e-6);
  EXPECT_NEAR(fit.costs().beta_ns_per_byte, 0.1, 1e-10);
  EXPECT_LT(fit.spread(), 1e-9);
}

TEST(CostFit, SaysWhatOneSizeOrOneNumberOfHopsCannotTell) {
  const CostFit one_size(measured(kTruth, {.sizes = {64}}, 1));
  EXPECT_FALSE(one_size.knows_beta());
  EXPECT_TRUE(one_size.knows_per_hop());
  EXPECT_NEAR(one_size.costs().time_ns(3, 64, 2), kTruth.time_ns(3, 64, 2), 300);
  const CostFit one_hop(measured(kTruth, {.ring_ranks = {}}, 1));
  EXPECT_TRUE(one_hop.knows_beta());
  EXPECT_FALSE(one_hop.knows_per_hop());
  EXPECT_EQ(one_hop.costs().per_hop_ns, 0);
}

TEST(CostFit, FewCasesGiveNoInterval) {
  const std::vector<CostPoint> points = {{1, 64, 1, 2'000, 0}, {1, 64, 1, 2'100, 1}};
  const CostFit fit(points);
  EXPECT_NEAR(fit.costs().alpha_ns, 2'050, 5);
  EXPECT_FALSE(fit.of([](const Costs& costs) { return costs.alpha_ns; }).low);
  EXPECT_FALSE(fit.predict([](const Costs& costs) { return costs.alpha_ns; }).low);
}

TEST(CostFit, ACaseThatWentWrongDoesNotSpoilTheCosts) {
  std::vector<CostPoint> points = measured(kTruth, {}, 4);
  for (CostPoint& point : points)
    if (point.block == 1 || point.block == 9) point.time_ns *= 20;  // somebody else's traffic
  const CostFit fit(points);
  EXPECT_NEAR(fit.costs().alpha_ns, 2'000, 200);
  EXPECT_NEAR(fit.costs().per_hop_ns, 3'000, 300);
  EXPECT_NEAR(fit.costs().beta_ns_per_byte, 0.1, 0.01);
  EXPECT_GT(fit.spread(), 1) << "but it is told";
}

TEST(LeastSquares, NoCoefficientIsNegative) {
  std::vector<Observation> observations;
  for (const double x : {1, 2, 3, 4, 5}) observations.push_back({{1, x}, 10 - x, 0});
  const LeastSquares made = least_squares(observations);
  EXPECT_EQ(made.coefficients[1], 0);
  EXPECT_GT(made.coefficients[0], 5);
  EXPECT_TRUE(made.known[1]);
}

TEST(StudentT, IsThatOfTheTables) {
  EXPECT_NEAR(student_t_within(0.95, 1), 12.7062, 1e-4);
  EXPECT_NEAR(student_t_within(0.95, 2), 4.30265, 1e-5);
  EXPECT_NEAR(student_t_within(0.95, 3), 3.18245, 1e-5);
  EXPECT_NEAR(student_t_within(0.95, 10), 2.22814, 1e-5);
  EXPECT_NEAR(student_t_within(0.99, 5), 4.03214, 1e-5);
  EXPECT_NEAR(student_t_within(0.95, 1'000'000), 1.95997, 1e-4);
}

}  // namespace
}  // namespace rdmameter
