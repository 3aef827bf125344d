// SPDX-License-Identifier: Apache-2.0
// Measurements of costs that are known, with noise.
#pragma once

#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "reports/topology/model/costs.h"

namespace rdmameter {

/// One way, by the model of docs/topologies.md.
inline double time_ns(const Costs& costs, double hops, double bytes) {
  return costs.alpha_ns + (hops - 1) * costs.per_hop_ns + hops * bytes * costs.beta_ns_per_byte;
}

/// Standard normal.
inline double normal(std::mt19937& engine) {
  const double u = (engine() + 1.0) / 4294967297.0, v = engine() / 4294967296.0;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

/// Meshes and rings of these ranks, messages of these sizes, and how much measurements differ.
struct NoisyPlan {
  std::vector<double> mesh_ranks{2, 4, 8, 16}, ring_ranks{4, 8, 16}, sizes{8, 4096, 65536};
  int repetitions = 5;
  double of_repetition = 0.02, of_point = 0.02;  ///< relative spreads
};

/// What a run of the plan gives where these are the costs; the same for the same seed.
inline std::vector<FitPoint> measured(const Costs& truth, const NoisyPlan& plan,
                                      std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::vector<FitPoint> points;
  const auto add_case = [&](const char* graph, double ranks, double max_hops, double bytes) {
    for (int repetition = 0; repetition < plan.repetitions; ++repetition) {
      const double luck = plan.of_repetition * normal(engine);
      for (double hops = 1; hops <= max_hops; ++hops)
        points.push_back(
            {graph,
             static_cast<std::uint64_t>(ranks),
             {CostFit::terms(hops, bytes),
              time_ns(truth, hops, bytes) * std::exp(luck + plan.of_point * normal(engine))}});
    }
  };
  for (const double bytes : plan.sizes) {
    for (const double n : plan.mesh_ranks) add_case("mesh", n, 1, bytes);
    for (const double n : plan.ring_ranks) add_case("ring", n, std::floor(n / 2), bytes);
  }
  return points;
}

inline const Costs kTruth{.alpha_ns = 2'000, .per_hop_ns = 3'000, .beta_ns_per_byte = 0.1};

}  // namespace rdmameter
