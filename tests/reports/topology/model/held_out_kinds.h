// SPDX-License-Identifier: Apache-2.0
// Are the means that a model predicts of each kind of pair where ranks that it has not seen are?
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "reports/stats/sample.h"
#include "reports/topology/model/model.h"
#include "tests/reports/topology/model/placed_rows.h"

namespace rdmameter {

inline constexpr double kHeldOutNoise = 0.05;

/// In at least 90 of 100 seeds the mean of each graph, size and kind is inside its interval, and no
/// interval is wider than a factor of two.
/// @param model_of  of rows with kHeldOutNoise and these sizes, by the seed
/// @param places    of the ranks that are held out
/// @param kind      of two of them, found without the code that is tested
inline void expect_held_out_in_intervals(
    const std::function<TopologyModel(std::uint32_t)>& model_of, const RankPlaces& places,
    const std::vector<std::uint64_t>& sizes,
    const std::function<PairKind(const RankPlace&, const RankPlace&)>& kind) {
  constexpr std::uint32_t kSeeds = 100;
  constexpr int kMin = 90;
  const auto ranks = static_cast<Rank>(places.size());
  std::map<std::tuple<std::string, std::uint64_t, PairKind>, int> inside;
  double widest = 0;
  for (std::uint32_t seed = 1; seed <= kSeeds; ++seed) {
    const TopologyModel model = model_of(seed);
    std::mt19937 engine(seed + 1'000'000);
    for (const char* graph : {"mesh", "ring", "hypercube"})
      for (std::size_t size = 0; size < sizes.size(); ++size) {
        const Row row = placed_row(graph, places, sizes[size], kHeldOutNoise, engine);
        std::map<PairKind, std::vector<double>> times_ns;
        for (Rank from = 0; from < ranks; ++from)
          for (Rank to = 0; to < ranks; ++to)
            if (from != to)
              times_ns[kind(places[from], places[to])].push_back(
                  *row.topology->matrix_ns[from][to]);
        const auto predicted = predict(model, {graph}, ranks);
        for (const auto& [of, times] : times_ns) {
          const auto& interval = predicted->sizes[size].of_kind[of].mean_interval_ns;
          ASSERT_TRUE(interval);
          const double mean_ns = mean(times);
          inside[{graph, size, of}] += interval->low <= mean_ns && mean_ns <= interval->high;
          widest = std::max(widest, interval->high / interval->low);
        }
      }
  }
  for (const auto& [of, count] : inside)
    EXPECT_GE(count, kMin) << std::get<0>(of) << " " << std::get<1>(of) << " "
                           << static_cast<std::size_t>(std::get<2>(of));
  EXPECT_LE(widest, 2);
}

}  // namespace rdmameter
