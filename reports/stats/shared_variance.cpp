// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/shared_variance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace rdmameter {
namespace {

constexpr double kAsymptotic = 8;  ///< from here on the series below are exact to 1e-12

double digamma(double x) {
  double value = 0;
  for (; x < kAsymptotic; ++x) value -= 1 / x;
  const double y = 1 / (x * x);
  return value + std::log(x) - 0.5 / x -
         y * (1.0 / 12 -
              y * (1.0 / 120 -
                   y * (1.0 / 252 - y * (1.0 / 240 - y * (1.0 / 132 - y * 691 / 32760)))));
}

double trigamma(double x) {
  double value = 0;
  for (; x < kAsymptotic; ++x) value += 1 / (x * x);
  const double y = 1 / (x * x);
  return value + 1 / x + y / 2 +
         y / x *
             (1.0 / 6 -
              y * (1.0 / 30 - y * (1.0 / 42 - y * (1.0 / 30 - y * (5.0 / 66 - y * 691 / 2730)))));
}

/// The x with trigamma(x) = value. Bisection: the function falls from infinity to 0.
double inverse_trigamma(double value) {
  double low = 1e-8, high = 1;
  while (trigamma(high) > value) high *= 2;
  for (int step = 0; step < 200 && high - low > 1e-13 * high; ++step) {
    const double middle = (low + high) / 2;
    (trigamma(middle) > value ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Without those that know nothing; variances of 0, whose logarithm is none, at a small share of
/// the mean.
std::vector<VarianceEstimate> usable(std::span<const VarianceEstimate> cases) {
  constexpr double kMinShare = 1e-4;
  std::vector<VarianceEstimate> list;
  double sum = 0;
  for (const VarianceEstimate& one : cases) {
    if (one.degrees <= 0) continue;
    list.push_back(one);
    sum += one.variance;
  }
  if (sum <= 0) return {};
  const double floor = kMinShare * sum / static_cast<double>(list.size());
  for (VarianceEstimate& one : list) one.variance = std::max(one.variance, floor);
  return list;
}

}  // namespace

VarianceEstimate shared_variance(std::span<const VarianceEstimate> cases) {
  const std::vector<VarianceEstimate> list = usable(cases);
  if (list.empty()) return {};
  if (list.size() == 1) return {list.front().variance, 0};
  std::vector<double> logs;  // freed of the bias that the logarithm of an estimate has
  double mean = 0, chance = 0;
  const auto count = static_cast<double>(list.size());
  for (const auto& [variance, degrees] : list) {
    logs.push_back(std::log(variance) - digamma(degrees / 2) + std::log(degrees / 2));
    mean += logs.back() / count;
    chance += trigamma(degrees / 2) / count;
  }

  double squares = 0;
  for (const double value : logs) squares += (value - mean) * (value - mean);
  const double beyond_chance = squares / (count - 1) - chance;
  if (beyond_chance <= 0) return {std::exp(mean), std::numeric_limits<double>::infinity()};
  const double half = inverse_trigamma(beyond_chance);
  return {std::exp(mean + digamma(half) - std::log(half)), 2 * half};
}

VarianceEstimate moderated(const VarianceEstimate& own, const VarianceEstimate& shared) {
  return {std::max(own.variance, shared.variance), own.degrees + shared.degrees};
}

}  // namespace rdmameter
