// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/ranks.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>
#include <vector>

#include "reports/stats/sample.h"
#include "reports/stats/student_t.h"

namespace rdmameter {
namespace {

/// More replicates than that a side are represented by as many of their quantiles: pairs grow with
/// the square, and what is lost is far below what replicates differ by.
constexpr std::size_t kMaxReplicates = 256;

std::vector<double> represented(std::vector<double> values) {
  if (values.size() <= kMaxReplicates) return values;
  std::ranges::sort(values);
  std::vector<double> chosen(kMaxReplicates);
  for (std::size_t i = 0; i < kMaxReplicates; ++i)
    chosen[i] = values[(2 * i + 1) * values.size() / (2 * kMaxReplicates)];
  return chosen;
}

/// Of all pairs.
std::vector<double> differences(std::span<const double> x, std::span<const double> y) {
  std::vector<double> all;
  all.reserve(x.size() * y.size());
  for (const double from : x)
    for (const double to : y) all.push_back(to - from);
  return all;
}

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
  const double all = std::accumulate(ways.begin(), ways.end(), 0.0);
  double below = 0;
  for (std::size_t rank = 0; rank < ways.size(); ++rank) {
    below += ways[rank];
    if (below / all > tail) return rank;
  }
  return 0;
}

struct Ranks {
  std::vector<std::size_t> doubled;  ///< of each value; twice the mean of tied ranks is whole
  double tie_cubes = 0;              ///< sum of t^3 - t over groups of t tied values
};

Ranks ranks_of(std::span<const double> values) {
  const auto order = order_by(values.size(), [&](std::size_t at) { return values[at]; });
  Ranks ranks{.doubled = std::vector<std::size_t>(values.size())};
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && values[order[end]] == values[order[begin]]) ++end;
    for (std::size_t i = begin; i < end; ++i)
      ranks.doubled[order[i]] = begin + end + 1;  // ranks begin + 1 to end
    const auto tied = static_cast<double>(end - begin);
    ranks.tie_cubes += tied * tied * tied - tied;
  }
  return ranks;
}

/// Counts, for each sum of doubled ranks, the choices of `chosen` values that have it: values are
/// offered one after the other, each taken or not. Counts are whole below 2^53 and then rounded in
/// the last digit.
/// @param doubled  ranks, ascending
MannWhitney exact(const std::vector<std::size_t>& doubled, std::size_t chosen, std::size_t sum_y) {
  const std::size_t max = doubled.size() * (doubled.size() + 1);
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(max + 1));
  ways[0][0] = 1;
  std::size_t offered = 0, reached = 0;
  for (const std::size_t value : doubled) {
    ++offered;
    reached += value;
    for (std::size_t taken = std::min(chosen, offered); taken > 0; --taken)
      for (std::size_t sum = reached; sum >= value; --sum)
        ways[taken][sum] += ways[taken - 1][sum - value];
  }
  double below = 0, at = 0, above = 0;
  for (std::size_t sum = 0; sum <= max; ++sum)
    (sum < sum_y ? below : sum == sum_y ? at : above) += ways[chosen][sum];
  const double all = below + at + above;
  return {.greater = (above + at) / all, .less = (below + at) / all};
}

MannWhitney approximate(std::size_t count_x, std::size_t count_y, std::size_t sum_y,
                        double tie_cubes) {
  const auto m = static_cast<double>(count_x), n = static_cast<double>(count_y), all = m + n;
  const double u = static_cast<double>(sum_y) / 2 - n * (n + 1) / 2 - m * n / 2;
  const double variance = m * n / 12 * (all + 1 - tie_cubes / (all * (all - 1)));
  if (variance <= 0) return {};
  const auto beyond = [&](double distance) {
    return 0.5 * std::erfc((distance - 0.5) / std::sqrt(variance) / std::numbers::sqrt2);
  };
  return {.greater = std::min(1.0, beyond(u)), .less = std::min(1.0, beyond(-u))};
}

double neighbours_correlation(std::span<const double> series) {
  const double middle = static_cast<double>(series.size() + 1) / 2;
  const auto ranks = mapped(ranks_of(series).doubled, [middle](std::size_t doubled) {
    return static_cast<double>(doubled) / 2 - middle;  // so that they sum to 0
  });
  double product = 0, square = 0;
  for (std::size_t at = 0; at < ranks.size(); ++at) {
    square += ranks[at] * ranks[at];
    if (at > 0) product += ranks[at - 1] * ranks[at];
  }
  return square == 0 ? 0 : product / square;
}

}  // namespace

double hodges_lehmann_shift(std::span<const double> x, std::span<const double> y) {
  return median(differences(represented({x.begin(), x.end()}), represented({y.begin(), y.end()})));
}

Interval median_interval(std::span<const double> values, double confidence, std::uint64_t seed) {
  constexpr std::size_t kDraws = 1000;  // the ends of a 95 % interval are 25 draws deep
  std::vector<double> drawn(values.size()), medians(kDraws);
  std::mt19937 engine(static_cast<std::uint32_t>(seed ^ (seed >> 32)));
  for (double& each : medians) {
    // The engine's own bits: the standard's distributions differ from library to library.
    for (double& value : drawn) value = values[(std::uint64_t{engine()} * values.size()) >> 32];
    each = median(drawn);
  }
  std::ranges::sort(medians);
  const auto beyond = static_cast<std::size_t>((1 - confidence) / 2 * kDraws);
  return {medians[beyond], medians[kDraws - 1 - beyond]};
}

std::size_t rank_of_bound(std::size_t m, std::size_t n, double confidence) {
  const double tail = (1 - confidence) / 2;
  // Of a single value the normal approximation has no rank at all.
  if (m + n <= kMaxExact || std::min(m, n) == 1) return exact_rank(m, n, tail);
  const auto a = static_cast<double>(m), b = static_cast<double>(n);
  const double z = student_t_quantile(tail, INFINITY);
  return static_cast<std::size_t>(a * b / 2 - z * std::sqrt(a * b * (a + b + 1) / 12));
}

Interval rank_interval(std::span<const double> x, std::span<const double> y, double confidence) {
  const std::size_t rank = rank_of_bound(x.size(), y.size(), confidence);
  if (rank == 0) return {-INFINITY, INFINITY};
  std::vector<double> all = differences(x, y);
  const auto low = all.begin() + static_cast<std::ptrdiff_t>(rank - 1);
  const auto high = all.end() - static_cast<std::ptrdiff_t>(rank);
  std::nth_element(all.begin(), low, all.end());
  const double bound = *low;
  std::nth_element(all.begin(), high, all.end());
  return {bound, *high};
}

MannWhitney mann_whitney(std::span<const double> x, std::span<const double> y) {
  if (x.empty() || y.empty()) return {};
  std::vector<double> pooled(x.begin(), x.end());
  pooled.insert(pooled.end(), y.begin(), y.end());
  auto [doubled, tie_cubes] = ranks_of(pooled);
  const auto first_y = doubled.begin() + static_cast<std::ptrdiff_t>(x.size());
  const std::size_t sum_y = std::accumulate(first_y, doubled.end(), std::size_t{0});
  if (doubled.size() > kMaxExact) return approximate(x.size(), y.size(), sum_y, tie_cubes);
  std::ranges::sort(doubled);
  return exact(doubled, y.size(), sum_y);
}

double repetitions_per_value(std::span<const double> series) {
  constexpr double kMost = 0.99;  // beyond, a series is a walk, and has no median
  if (series.size() < 3) return 1;
  const double seen = neighbours_correlation(series);
  const double r = seen + (1 + 3 * seen) / static_cast<double>(series.size());
  const double kept = std::clamp(r, 0.0, kMost);
  return (1 + kept) / (1 - kept);
}

Interval median_interval(std::span<const double> series, double confidence) {
  const auto count = static_cast<double>(series.size());
  const double per_value = repetitions_per_value(series);
  const double t = student_t_quantile((1 - confidence) / 2, std::max(count / per_value - 1, 1.0));
  const double rank = std::floor(count / 2 - t * std::sqrt(count * per_value) / 2);
  if (rank < 1) return {-INFINITY, INFINITY};
  std::vector<double> sorted(series.begin(), series.end());
  std::ranges::sort(sorted);
  const auto from_end = static_cast<std::size_t>(rank);
  return {sorted[from_end - 1], sorted[sorted.size() - from_end]};
}

}  // namespace rdmameter
