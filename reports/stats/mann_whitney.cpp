// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/mann_whitney.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace rdmameter {
namespace {

struct Ranks {
  std::vector<std::size_t> doubled;  ///< of the pooled values, ascending; twice the rank is whole
  std::size_t sum_y = 0;             ///< doubled
  double tie_cubes = 0;              ///< sum of t^3 - t over groups of t tied values
};

Ranks rank(std::span<const double> x, std::span<const double> y) {
  std::vector<std::pair<double, bool>> pooled;
  for (const double value : x) pooled.emplace_back(value, false);
  for (const double value : y) pooled.emplace_back(value, true);
  std::ranges::sort(pooled);
  Ranks ranks;
  for (std::size_t begin = 0, end = 0; begin < pooled.size(); begin = end) {
    while (end < pooled.size() && pooled[end].first == pooled[begin].first) ++end;
    const std::size_t doubled = begin + end + 1;  // ranks begin + 1 to end
    for (std::size_t i = begin; i < end; ++i) {
      ranks.doubled.push_back(doubled);
      if (pooled[i].second) ranks.sum_y += doubled;
    }
    const auto tied = static_cast<double>(end - begin);
    ranks.tie_cubes += tied * tied * tied - tied;
  }
  return ranks;
}

/// Counts, for each sum of doubled ranks, the choices of `chosen` values that have it: values are
/// offered one after the other, each taken or not. Counts are whole below 2^53 and then rounded in
/// the last digit.
MannWhitney exact(const Ranks& ranks, std::size_t chosen) {
  const std::size_t max = ranks.doubled.size() * (ranks.doubled.size() + 1);
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(max + 1));
  ways[0][0] = 1;
  std::size_t offered = 0, reached = 0;
  for (const std::size_t value : ranks.doubled) {
    ++offered;
    reached += value;
    for (std::size_t taken = std::min(chosen, offered); taken > 0; --taken)
      for (std::size_t sum = reached; sum >= value; --sum)
        ways[taken][sum] += ways[taken - 1][sum - value];
  }
  double below = 0, at = 0, above = 0;
  for (std::size_t sum = 0; sum <= max; ++sum)
    (sum < ranks.sum_y ? below : sum == ranks.sum_y ? at : above) += ways[chosen][sum];
  const double all = below + at + above;
  return {.greater = (above + at) / all, .less = (below + at) / all};
}

MannWhitney approximate(const Ranks& ranks, std::size_t count_x, std::size_t count_y) {
  const auto m = static_cast<double>(count_x), n = static_cast<double>(count_y), all = m + n;
  const double u = static_cast<double>(ranks.sum_y) / 2 - n * (n + 1) / 2 - m * n / 2;
  const double variance = m * n / 12 * (all + 1 - ranks.tie_cubes / (all * (all - 1)));
  if (variance <= 0) return {};
  const auto beyond = [&](double distance) {
    return 0.5 * std::erfc((distance - 0.5) / std::sqrt(variance) / std::numbers::sqrt2);
  };
  return {.greater = std::min(1.0, beyond(u)), .less = std::min(1.0, beyond(-u))};
}

}  // namespace

MannWhitney mann_whitney(std::span<const double> x, std::span<const double> y) {
  if (x.empty() || y.empty()) return {};
  const Ranks ranks = rank(x, y);
  if (ranks.doubled.size() > kMaxExact) return approximate(ranks, x.size(), y.size());
  return exact(ranks, y.size());
}

}  // namespace rdmameter
