// SPDX-License-Identifier: Apache-2.0
// How much larger are the values of one side than those of the other?
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace rdmameter {

/// The median of all ratios y / x (Hodges and Lehmann 1963, on logarithms): no single replicate can
/// move it far.
/// @param x, y  replicates, not empty, each above 0
double hodges_lehmann_ratio(std::span<const double> x, std::span<const double> y);

/// Of values that are logarithms already: the median of all differences y - x.
double hodges_lehmann_shift(std::span<const double> x, std::span<const double> y);

struct Interval {
  double low = 0, high = 0;
};

/// Enough that the ends of a 95 % interval are 25 draws deep.
inline constexpr std::size_t kBootstrapDraws = 1000;

/// Percentile bootstrap of hodges_lehmann_ratio(): each side's replicates drawn anew with
/// replacement (Efron 1979).
/// @param confidence  0.95: one draw in forty lies beyond either end
/// @param seed        the same seed gives the same interval
Interval ratio_interval(std::span<const double> x, std::span<const double> y, double confidence,
                        std::uint64_t seed, std::size_t draws = kBootstrapDraws);

/// The same of the median of one side.
Interval median_interval(std::span<const double> values, double confidence, std::uint64_t seed);

}  // namespace rdmameter
