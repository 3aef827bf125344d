// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/knee.h"

#include <algorithm>

#include "reports/stats/ranks.h"

namespace rdmameter {
namespace {

/// What counts of the repetitions.
Interval counted(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t left_out = values.size() / 5;
  return {values[left_out], values[values.size() - 1 - left_out]};
}

}  // namespace

Knee find_knee(const std::map<std::uint64_t, std::vector<double>>& rates) {
  Knee knee;
  if (rates.size() < 2) return knee;
  double best = 0;
  for (const auto& [number, values] : rates) {
    const Interval rate = counted(values);
    if (rate.low >= kLowerRate * best) knee.fast = number;
    if (rate.high >= kLowerRate * best)
      knee.slow = 0;
    else if (knee.slow == 0)
      knee.slow = number;
    if (rate.low > best) {
      best = rate.low;
      knee.best = number;
    }
    knee.most = number;
  }
  return knee;
}

}  // namespace rdmameter
