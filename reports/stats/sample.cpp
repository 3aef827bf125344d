// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/sample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rdmameter {

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2;
}

std::vector<double> logarithms(std::span<const double> values) {
  std::vector<double> made(values.size());
  std::ranges::transform(values, made.begin(), [](double value) { return std::log(value); });
  return made;
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  const auto count = static_cast<double>(values.size());
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  return std::sqrt(squares / (count - 1));
}

}  // namespace rdmameter
