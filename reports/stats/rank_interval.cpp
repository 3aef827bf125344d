// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/rank_interval.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "reports/stats/mann_whitney.h"
#include "reports/stats/student_t.h"

namespace rdmameter {
namespace {

/// ways[u]: to deal m + n ranks out so that Mann and Whitney's U is u. By Gauss's binomial
/// coefficient: multiplied by 1 - q^(n + i), divided by 1 - q^i.
std::vector<double> ways_of_u(std::size_t m, std::size_t n) {
  std::vector<double> ways(m * n + 1, 0);
  ways[0] = 1;
  for (std::size_t i = 1; i <= m; ++i) {
    for (std::size_t u = ways.size() - 1; u >= n + i && u < ways.size(); --u)
      ways[u] -= ways[u - n - i];
    for (std::size_t u = i; u < ways.size(); ++u) ways[u] += ways[u - i];
  }
  return ways;
}

std::size_t exact_rank(std::size_t m, std::size_t n, double tail) {
  const std::vector<double> ways = ways_of_u(m, n);
  double all = 0;
  for (const double way : ways) all += way;
  double below = 0;
  for (std::size_t rank = 0; rank < ways.size(); ++rank) {
    below += ways[rank];
    if (below / all > tail) return rank;
  }
  return 0;
}

}  // namespace

std::size_t rank_of_bound(std::size_t m, std::size_t n, double confidence) {
  const double tail = (1 - confidence) / 2;
  if (m + n <= kMaxExact) return exact_rank(m, n, tail);
  const auto a = static_cast<double>(m), b = static_cast<double>(n);
  const double z = student_t_quantile(tail, std::numeric_limits<double>::infinity());
  return static_cast<std::size_t>(a * b / 2 - z * std::sqrt(a * b * (a + b + 1) / 12));
}

Bounds rank_interval(std::span<const double> x, std::span<const double> y, double confidence) {
  const std::size_t rank = rank_of_bound(x.size(), y.size(), confidence);
  if (rank == 0)
    return {-std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  std::vector<double> differences;
  differences.reserve(x.size() * y.size());
  for (const double from : x)
    for (const double to : y) differences.push_back(to - from);
  const auto low = differences.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  const auto high = differences.end() - static_cast<std::ptrdiff_t>(rank);
  std::nth_element(differences.begin(), low, differences.end());
  const double bound = *low;
  std::nth_element(differences.begin(), high, differences.end());
  return {bound, *high};
}

}  // namespace rdmameter
