// SPDX-License-Identifier: Apache-2.0
// Costs that are known are found again, and what cannot be told is not.
#include "reports/topology/model/costs.h"

#include <gtest/gtest.h>

#include "tests/reports/topology/model/noisy_costs.h"

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
  EXPECT_NEAR(time_ns(one_size.costs(), 3, 64), time_ns(kTruth, 3, 64), 300);
  const CostFit one_hop(measured(kTruth, {.ring_ranks = {}}, 1));
  EXPECT_TRUE(one_hop.knows_beta());
  EXPECT_FALSE(one_hop.knows_per_hop());
  EXPECT_EQ(one_hop.costs().per_hop_ns, 0);
}

TEST(CostFit, FindsCostsWithinTwoPercentInSpiteOfNoise) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    const CostFit fit(measured(
        kTruth, {.mesh_ranks = {2, 4, 8, 16, 32}, .ring_ranks = {4, 8, 16, 32}, .repetitions = 10},
        seed));
    EXPECT_NEAR(fit.costs().alpha_ns, 2'000, 40);
    EXPECT_NEAR(fit.costs().per_hop_ns, 3'000, 60);
    EXPECT_NEAR(fit.costs().beta_ns_per_byte, 0.1, 0.002);
    EXPECT_NEAR(fit.spread(), 0.028, 0.005);
  }
}

TEST(CostFit, TheErrorIsThatOfPredictingTheMostRanksFromFewer) {
  std::vector<FitPoint> points = measured(kTruth, {.of_repetition = 0, .of_point = 0}, 1);
  EXPECT_LT(*CostFit(points).error_at_max_ranks("mesh"), 1e-9);
  for (FitPoint& point : points)
    if (point.ranks == 16 && point.graph == "ring") point.observation.value *= 1.25;
  const CostFit fit(points);
  EXPECT_LT(*fit.error_at_max_ranks("mesh"), 1e-9);
  EXPECT_NEAR(*fit.error_at_max_ranks("ring"), 0.2, 1e-9);
}

TEST(CostFit, AnIntervalThatWouldTellNothingIsNotThere) {
  std::vector<FitPoint> points = measured(kTruth, {}, 1);
  for (std::size_t i = 0; i < points.size(); ++i) points[i].row = i;
  const std::vector<double> terms = points.front().observation.terms;
  EXPECT_TRUE(CostFit(points).interval(terms, "mesh"));
  for (std::size_t i = 0; i < points.size(); i += 5) points[i].observation.value *= 1000;
  EXPECT_FALSE(CostFit(points).interval(terms, "mesh"));
}

TEST(CostFit, WhatFewerRanksDoNotTellHasNoError) {
  EXPECT_FALSE(CostFit(measured(kTruth, {.mesh_ranks = {8}, .ring_ranks = {}}, 1))
                   .error_at_max_ranks("mesh"))
      << "one number of ranks";
  EXPECT_FALSE(CostFit(measured(kTruth, {.mesh_ranks = {2, 4}, .ring_ranks = {4}}, 1))
                   .error_at_max_ranks("ring"))
      << "fewer ranks had no relays";
  EXPECT_FALSE(CostFit(measured(kTruth, {.ring_ranks = {4, 8}}, 1)).error_at_max_ranks("ring"))
      << "the ring was not measured at 16 ranks";
}

TEST(CostFit, ACaseThatWentWrongDoesNotSpoilTheCosts) {
  std::vector<FitPoint> points = measured(kTruth, {}, 4);
  for (FitPoint& point : points)  // somebody else's traffic
    if (point.ranks == 4 && point.graph == "mesh" && point.observation.terms[2] < 65536)
      point.observation.value *= 20;
  const CostFit fit(points);
  EXPECT_NEAR(fit.costs().alpha_ns, 2'000, 200);
  EXPECT_NEAR(fit.costs().per_hop_ns, 3'000, 300);
  EXPECT_NEAR(fit.costs().beta_ns_per_byte, 0.1, 0.01);
  EXPECT_GT(fit.spread(), 1) << "but it is told";
}

TEST(LeastSquares, NoCoefficientIsNegative) {
  std::vector<Observation> observations;
  for (const double x : {1, 2, 3, 4, 5}) observations.push_back({{1, x}, 10 - x});
  const LeastSquares result = least_squares(observations);
  EXPECT_EQ(result.coefficients[1], 0);
  EXPECT_GT(result.coefficients[0], 5);
  EXPECT_TRUE(result.known[1]);
}

}  // namespace
}  // namespace rdmameter
