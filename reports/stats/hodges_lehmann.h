// SPDX-License-Identifier: Apache-2.0
// How much larger are the values of one side than those of the other?
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdmameter {

/// The median of all differences y - x (Hodges and Lehmann 1963): no single replicate can move it
/// far. Of logarithms, it is that of a ratio.
/// @param x, y  replicates, not empty
double hodges_lehmann_shift(std::span<const double> x, std::span<const double> y);

struct Interval {
  double low = 0, high = 0;
};

/// Percentile bootstrap of the median: the values drawn anew with replacement (Efron 1979).
/// @param confidence  0.95: one draw in forty lies beyond either end
/// @param seed        the same seed gives the same interval
Interval median_interval(std::span<const double> values, double confidence, std::uint64_t seed);

}  // namespace rdmameter
