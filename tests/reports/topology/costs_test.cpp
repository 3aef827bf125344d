// SPDX-License-Identifier: Apache-2.0
// Costs that are known are found again, and the intervals hold what they promise.
#include "reports/topology/costs.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "reports/stats/student_t.h"

namespace rdmameter {
namespace {

/// Standard normal.
double normal(std::mt19937& engine) {
  const double u = (engine() + 1.0) / 4294967297.0, v = engine() / 4294967296.0;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

struct Plan {
  std::vector<double> mesh_ranks{2, 4, 8, 16}, ring_ranks{4, 8, 16}, sizes{8, 4096, 65536};
  int repetitions = 5;
  double of_case = 0, of_repetition = 0.02, of_point = 0.02;  ///< relative spreads
};

std::vector<CostPoint> measured(const Costs& truth, const Plan& plan, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<CostPoint> points;
  std::size_t block = 0;
  const auto add_case = [&](double most_hops, double bytes, double qps) {
    const double case_luck = plan.of_case * normal(engine);
    for (int repetition = 0; repetition < plan.repetitions; ++repetition) {
      const double luck = case_luck + plan.of_repetition * normal(engine);
      for (double hops = 1; hops <= most_hops; ++hops)
        points.push_back(
            {hops, bytes, qps,
             truth.time_ns(hops, bytes, qps) * std::exp(luck + plan.of_point * normal(engine)),
             block});
    }
    ++block;
  };
  for (const double bytes : plan.sizes) {
    for (const double n : plan.mesh_ranks) add_case(1, bytes, n - 1);
    for (const double n : plan.ring_ranks) add_case(std::floor(n / 2), bytes, 2);
  }
  return points;
}

const Costs kTruth{.alpha_ns = 2'000, .per_hop_ns = 3'000, .beta_ns_per_byte = 0.1};

TEST(CostFit, FindsCostsWithinTwoPercentInSpiteOfNoise) {
  for (std::uint32_t seed = 1; seed <= 5; ++seed) {
    const CostFit fit(measured(
        kTruth, {.mesh_ranks = {2, 4, 8, 16, 32}, .ring_ranks = {4, 8, 16, 32}, .repetitions = 10},
        seed));
    EXPECT_NEAR(fit.costs().alpha_ns, 2'000, 40);
    EXPECT_NEAR(fit.costs().per_hop_ns, 3'000, 60);
    EXPECT_NEAR(fit.costs().beta_ns_per_byte, 0.1, 0.002);
    EXPECT_FALSE(fit.has_knee());
    EXPECT_NEAR(fit.spread(), 0.028, 0.005);
  }
}

TEST(CostFit, IsExactWithoutNoise) {
  const CostFit fit(measured(kTruth, {.of_repetition = 0, .of_point = 0}, 1));
  EXPECT_NEAR(fit.costs().alpha_ns, 2'000, 1e-6);
  EXPECT_NEAR(fit.costs().per_hop_ns, 3'000, 1e-6);
  EXPECT_NEAR(fit.costs().beta_ns_per_byte, 0.1, 1e-10);
  EXPECT_LT(fit.spread(), 1e-9);
}

TEST(CostFit, FindsTheKneeOfTheDevicesCache) {
  Costs truth = kTruth;
  truth.knee_cost_ns = 1'500;
  truth.knee_qps = 100;
  Plan plan{.mesh_ranks = {9, 17, 33, 65, 129, 257, 513, 1025}, .sizes = {8, 4096}};
  int held = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const CostFit fit(measured(truth, plan, seed));
    ASSERT_TRUE(fit.has_knee());
    EXPECT_NEAR(fit.costs().alpha_ns, 2'000, 60);
    EXPECT_NEAR(fit.costs().knee_cost_ns, 1'500, 100);
    EXPECT_NEAR(fit.costs().knee_qps, 100, 12);
    const Estimate knee = fit.of([](const Costs& costs) { return costs.knee_qps; });
    held += knee.low && *knee.low <= 100 && *knee.high >= 100 ? 1 : 0;
  }
  EXPECT_GE(held, 17);
}

TEST(CostFit, SeesNoKneeWhereThereIsNone) {
  int seen = 0;
  Plan plan{.mesh_ranks = {9, 17, 33, 65, 129, 257}, .sizes = {8, 4096}};
  for (std::uint32_t seed = 1; seed <= 40; ++seed)
    seen += CostFit(measured(kTruth, plan, seed)).has_knee() ? 1 : 0;
  EXPECT_LE(seen, 2);
}

TEST(CostFit, IntervalsHoldTheTruthAsOftenAsTheySay) {
  constexpr int kTimes = 100;
  int alpha = 0, per_hop = 0, beta = 0, prediction = 0;
  const auto holds = [](const Estimate& made, double truth) {
    return made.low && *made.low <= truth && truth <= *made.high ? 1 : 0;
  };
  std::mt19937 engine(77);
  for (std::uint32_t seed = 1; seed <= kTimes; ++seed) {
    const Plan plan{.of_case = 0.02};
    const CostFit fit(measured(kTruth, plan, seed));
    alpha += holds(fit.of([](const Costs& costs) { return costs.alpha_ns; }), 2'000);
    per_hop += holds(fit.of([](const Costs& costs) { return costs.per_hop_ns; }), 3'000);
    beta += holds(fit.of([](const Costs& costs) { return costs.beta_ns_per_byte; }), 0.1);
    const double noise = std::sqrt(0.02 * 0.02 * 3) * normal(engine);
    prediction += holds(fit.predict([](const Costs& costs) { return costs.time_ns(32, 4096, 2); }),
                        kTruth.time_ns(32, 4096, 2) * std::exp(noise));
  }
  // Nine cases alone have more than one hop, and a case's luck is in all of its points.
  for (const int held : {alpha, per_hop, beta, prediction}) EXPECT_GE(held, 0.85 * kTimes);
  RecordProperty("held", fmt::format("alpha {}, per hop {}, beta {}, prediction {} of {}", alpha,
                                     per_hop, beta, prediction, kTimes));
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
