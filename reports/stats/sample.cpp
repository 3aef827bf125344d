// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/sample.h"

#include <cmath>

namespace rdmameter {

Number known_median(const std::vector<double>& values) {
  return values.empty() ? std::nullopt : std::optional(median(values));
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double squares_around(std::span<const double> values, double centre) {
  double squares = 0;
  for (const double value : values) squares += (value - centre) * (value - centre);
  return squares;
}

double standard_deviation(std::span<const double> values) {
  if (values.size() < 2) return 0;
  return std::sqrt(squares_around(values, mean(values)) / static_cast<double>(values.size() - 1));
}

}  // namespace rdmameter
