// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/student_t.h"

#include <cmath>
#include <numbers>

namespace rdmameter {
namespace {

constexpr std::size_t kAlmostNormal = 100'000;  ///< beyond, t differs from that by less than 1e-5

/// Probability that |t| stays below this value.
double within(double t, std::size_t freedom) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
  const double sine = std::sin(angle), cosine = std::cos(angle);
  const bool odd = freedom % 2 == 1;
  double term = odd ? cosine : 1, sum = freedom > 1 ? term : 0;
  for (std::size_t i = odd ? 3 : 2; i < freedom; i += 2) {
    term *= cosine * cosine * static_cast<double>(i - 1) / static_cast<double>(i);
    sum += term;
  }
  return odd ? 2 / std::numbers::pi * (angle + sine * sum) : sine * sum;
}

}  // namespace

double student_t_within(double confidence, std::size_t freedom) {
  freedom = freedom < kAlmostNormal ? freedom : kAlmostNormal;
  double low = 0, high = 2;
  while (within(high, freedom) < confidence) high *= 2;
  for (int step = 0; step < 80; ++step) {
    const double middle = (low + high) / 2;
    (within(middle, freedom) < confidence ? low : high) = middle;
  }
  return high;
}

}  // namespace rdmameter
