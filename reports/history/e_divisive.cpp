// SPDX-License-Identifier: Apache-2.0
#include "reports/history/e_divisive.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>

namespace rdmameter {
namespace {

struct Split {
  double divergence = 0;  ///< 0: there is none
  std::size_t at = 0;
};

/// sums[i]: of all distances among the first i + 1 values.
std::vector<double> distances_within(std::span<const double> values) {
  std::vector<double> sums(values.size());
  for (std::size_t i = 1; i < values.size(); ++i) {
    double to_those_before = 0;
    for (std::size_t k = 0; k < i; ++k) to_those_before += std::abs(values[i] - values[k]);
    sums[i] = sums[i - 1] + to_those_before;
  }
  return sums;
}

double pairs(std::size_t n) {
  return static_cast<double>(n) * static_cast<double>(n - 1) / 2;
}

/// Where the scaled divergence of what lies before and after is largest: Matteson and James, (5)
/// and (6), with distances to the first power.
Split best_split(std::span<const double> values, std::size_t least) {
  if (values.size() < 2 * least) return {};
  const std::vector<double> before = distances_within(values);
  const std::vector<double> reversed(values.rbegin(), values.rend());
  const std::vector<double> after = distances_within(reversed);
  const double all = before.back();
  Split best;
  for (std::size_t at = least; at + least <= values.size(); ++at) {
    const std::size_t rest = values.size() - at;
    const double left = before[at - 1], right = after[rest - 1];
    const auto m = static_cast<double>(at), n = static_cast<double>(rest);
    const double energy =
        2 * (all - left - right) / (m * n) - left / pairs(at) - right / pairs(rest);
    const double divergence = m * n / (m + n) * energy;
    if (divergence > best.divergence) best = {divergence, at};
  }
  return best;
}

/// The best split of any segment, at an index of the whole series.
Split best_of(std::span<const double> series, const std::vector<std::size_t>& bounds,
              std::size_t least) {
  Split best;
  for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
    const Split split = best_split(series.subspan(bounds[i], bounds[i + 1] - bounds[i]), least);
    if (split.divergence > best.divergence) best = {split.divergence, bounds[i] + split.at};
  }
  return best;
}

/// Fisher and Yates; std::shuffle differs from library to library.
void shuffle(std::span<double> values, std::mt19937& engine) {
  for (std::size_t i = values.size(); i > 1; --i) std::swap(values[i - 1], values[engine() % i]);
}

/// How often chance alone splits as well: values change places within their segments.
/// @return  the p-value, or 1 as soon as it is sure to be beyond the significance asked for
double p_value_of(const Split& found, std::span<const double> series,
                  const std::vector<std::size_t>& bounds, const EDivisiveOptions& options,
                  std::mt19937& engine) {
  std::vector<double> shuffled(series.begin(), series.end());
  // The same values in another order sum up to something else in the last digits.
  const double as_good = found.divergence * (1 - 1e-12);
  unsigned as_good_count = 0;
  const auto p_value = [&] {
    return (as_good_count + 1.0) / (static_cast<double>(options.permutations) + 1);
  };
  for (unsigned i = 0; i < options.permutations; ++i) {
    for (std::size_t k = 0; k + 1 < bounds.size(); ++k)
      shuffle(std::span(shuffled).subspan(bounds[k], bounds[k + 1] - bounds[k]), engine);
    if (best_of(shuffled, bounds, options.least_segment).divergence >= as_good) ++as_good_count;
    if (p_value() > options.significance) return 1;
  }
  return p_value();
}

}  // namespace

std::vector<ChangePoint> e_divisive(std::span<const double> series,
                                    const EDivisiveOptions& options) {
  std::mt19937 engine(options.seed);
  std::vector<std::size_t> bounds = {0, series.size()};
  std::vector<ChangePoint> points;
  while (true) {
    const Split split = best_of(series, bounds, options.least_segment);
    if (split.divergence == 0) break;
    const double p_value = p_value_of(split, series, bounds, options, engine);
    if (p_value > options.significance) break;
    points.push_back({split.at, p_value});
    bounds.insert(std::upper_bound(bounds.begin(), bounds.end(), split.at), split.at);
  }
  std::sort(points.begin(), points.end(),
            [](const ChangePoint& a, const ChangePoint& b) { return a.at < b.at; });
  return points;
}

}  // namespace rdmameter
