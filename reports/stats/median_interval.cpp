// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/median_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "reports/stats/student_t.h"

namespace rdmameter {
namespace {

/// Ties have the mean of their ranks. Shifted so that they sum to 0.
std::vector<double> centred_ranks(std::span<const double> series) {
  std::vector<std::size_t> order(series.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t at) { return series[at]; });
  std::vector<double> ranks(series.size());
  const double middle = static_cast<double>(series.size() - 1) / 2;
  for (std::size_t first = 0, end = 0; first < order.size(); first = end) {
    while (end < order.size() && series[order[end]] == series[order[first]]) ++end;
    const double rank = static_cast<double>(first + end - 1) / 2 - middle;
    for (std::size_t at = first; at < end; ++at) ranks[order[at]] = rank;
  }
  return ranks;
}

double neighbours_correlation(std::span<const double> series) {
  const std::vector<double> ranks = centred_ranks(series);
  double product = 0, square = 0;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    square += ranks[at] * ranks[at];
    if (at > 0) product += ranks[at - 1] * ranks[at];
  }
  return square == 0 ? 0 : product / square;
}

}  // namespace

double repetitions_per_value(std::span<const double> series) {
  constexpr double kMost = 0.99;  // beyond, a series is a walk, and has no median
  if (series.size() < 3) return 1;
  const double seen = neighbours_correlation(series);
  const double r = seen + (1 + 3 * seen) / static_cast<double>(series.size());
  const double kept = std::clamp(r, 0.0, kMost);
  return (1 + kept) / (1 - kept);
}

Bounds median_interval(std::span<const double> series, double confidence) {
  const auto count = static_cast<double>(series.size());
  const double per_value = repetitions_per_value(series);
  const double t = student_t_quantile((1 - confidence) / 2, std::max(count / per_value - 1, 1.0));
  const double rank = std::floor(count / 2 - t * std::sqrt(count * per_value) / 2);
  if (rank < 1)
    return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  std::vector<double> sorted(series.begin(), series.end());
  std::ranges::sort(sorted);
  const auto from_end = static_cast<std::size_t>(rank);
  return {sorted[from_end - 1], sorted[sorted.size() - from_end]};
}

}  // namespace rdmameter
