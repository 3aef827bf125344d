// SPDX-License-Identifier: Apache-2.0
// How near fits come to costs that are known, and how often their intervals hold the truth. Of many
// data sets, with a seed.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reports/topology/noisy_costs.h"

namespace rdmameter {
namespace {

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

TEST(CostFit, FindsTheKneeOfTheDevicesCache) {
  Costs truth = kTruth;
  truth.knee_cost_ns = 1'500;
  truth.knee_qps = 100;
  NoisyPlan plan{.mesh_ranks = {9, 17, 33, 65, 129, 257, 513, 1025}, .sizes = {8, 4096}};
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
  NoisyPlan plan{.mesh_ranks = {9, 17, 33, 65, 129, 257}, .sizes = {8, 4096}};
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
    const NoisyPlan plan{.of_case = 0.02};
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

}  // namespace
}  // namespace rdmameter
