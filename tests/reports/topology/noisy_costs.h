// SPDX-License-Identifier: Apache-2.0
// Measurements of costs that are known, with noise.
#pragma once

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "reports/topology/costs.h"

namespace rdmameter {

/// Standard normal.
inline double normal(std::mt19937& engine) {
  const double u = (engine() + 1.0) / 4294967297.0, v = engine() / 4294967296.0;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

/// Meshes and rings of these ranks, messages of these sizes, and how much measurements differ.
struct NoisyPlan {
  std::vector<double> mesh_ranks{2, 4, 8, 16}, ring_ranks{4, 8, 16}, sizes{8, 4096, 65536};
  int repetitions = 5;
  double of_case = 0, of_repetition = 0.02, of_point = 0.02;  ///< relative spreads
};

/// What a run of the plan gives where these are the costs; the same for the same seed.
inline std::vector<CostPoint> measured(const Costs& truth, const NoisyPlan& plan,
                                       std::uint32_t seed) {
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

inline const Costs kTruth{.alpha_ns = 2'000, .per_hop_ns = 3'000, .beta_ns_per_byte = 0.1};

}  // namespace rdmameter
