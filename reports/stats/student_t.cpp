// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/student_t.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "reports/stats/sample.h"

namespace rdmameter {
namespace {

/// Beyond that many degrees of freedom the normal distribution is nearer than 1e-7 of any p.
constexpr double kNormalDegrees = 1e8;

/// The continued fraction of the incomplete beta function by Lentz's method (Press et al.,
/// "Numerical Recipes", 6.4). Converges quickly for x < (a + 1) / (a + b + 2).
double beta_fraction(double a, double b, double x) {
  constexpr double kTiny = 1e-300, kPrecision = 1e-15;
  constexpr int kMaxSteps = 20000;  // some sqrt(max(a, b)) are needed
  const auto away_from_0 = [](double value) { return std::abs(value) < kTiny ? kTiny : value; };
  double c = 1, d = 1 / away_from_0(1 - (a + b) * x / (a + 1)), fraction = d;
  for (int step = 1; step < kMaxSteps; ++step) {
    const double m = step;
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / away_from_0(1 + even * d);
    c = away_from_0(1 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / away_from_0(1 + odd * d);
    c = away_from_0(1 + odd / c);
    fraction *= d * c;
    if (std::abs(d * c - 1) < kPrecision) break;
  }
  return fraction;
}

/// The regularised incomplete beta function I_x(a, b). @param y  1 - x, which may be more precise
double incomplete_beta(double a, double b, double x, double y) {
  if (x <= 0) return 0;
  if (y <= 0) return 1;
  const double front = std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) +
                                a * std::log(x) + b * std::log(y));
  if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, y) / b;
}

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

/// Where a function that falls to 0 has that value, at `low` or beyond. By bisection.
/// @param precision  of the place, relative
double inverse_of_falling(const auto& function, double value, double low, double precision) {
  double high = 1;
  while (function(high) > value && high < 1e100) high *= 2;
  for (int step = 0; step < 200 && high - low > precision * high; ++step) {
    const double middle = (low + high) / 2;
    (function(middle) > value ? low : high) = middle;
  }
  return (low + high) / 2;
}

/// Without those that know nothing; variances of 0, whose logarithm is none, at a small share of
/// the mean.
std::vector<VarianceEstimate> usable(std::span<const VarianceEstimate> cases) {
  constexpr double kMinShare = 1e-4;
  auto list = filtered(cases, [](const VarianceEstimate& one) { return one.degrees > 0; });
  double sum = 0;
  for (const VarianceEstimate& one : list) sum += one.variance;
  if (sum <= 0) return {};
  const double floor = kMinShare * sum / static_cast<double>(list.size());
  for (VarianceEstimate& one : list) one.variance = std::max(one.variance, floor);
  return list;
}

}  // namespace

double student_t_above(double t, double degrees) {
  if (std::isnan(t)) return 1;
  if (degrees > kNormalDegrees) return 0.5 * std::erfc(t / std::numbers::sqrt2);
  if (std::isinf(t)) return t > 0 ? 0 : 1;
  const double square = t * t, whole = degrees + square;
  const double tail = 0.5 * incomplete_beta(degrees / 2, 0.5, degrees / whole, square / whole);
  return t > 0 ? tail : 1 - tail;
}

double student_t_quantile(double above, double degrees) {
  if (above > 0.5) return -student_t_quantile(1 - above, degrees);
  return inverse_of_falling([degrees](double t) { return student_t_above(t, degrees); }, above, 0,
                            1e-14);
}

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
  const double beyond_chance = squares_around(logs, mean) / (count - 1) - chance;
  if (beyond_chance <= 0) return {std::exp(mean), INFINITY};
  const double half = inverse_of_falling(trigamma, beyond_chance, 1e-8, 1e-13);
  return {std::exp(mean + digamma(half) - std::log(half)), 2 * half};
}

VarianceEstimate moderated(const VarianceEstimate& own, const VarianceEstimate& shared) {
  return {std::max(own.variance, shared.variance), own.degrees + shared.degrees};
}

}  // namespace rdmameter
