// SPDX-License-Identifier: Apache-2.0
#include "reports/stats/benjamini_hochberg.h"

#include <algorithm>
#include <numeric>

namespace rdmameter {

std::vector<double> benjamini_hochberg(std::span<const double> p_values) {
  std::vector<std::size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t index) { return p_values[index]; });
  std::vector<double> adjusted(p_values.size());
  double min = 1;  // of those with a greater p-value
  for (std::size_t rank = order.size(); rank > 0; --rank) {
    const std::size_t index = order[rank - 1];
    const double stepped =
        p_values[index] * static_cast<double>(order.size()) / static_cast<double>(rank);
    min = std::min(min, stepped);
    adjusted[index] = min;
  }
  return adjusted;
}

}  // namespace rdmameter
