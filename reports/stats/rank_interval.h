// SPDX-License-Identifier: Apache-2.0
// Between which bounds does the change of a few replicates lie?
#pragma once

#include <cstddef>
#include <span>

namespace rdmameter {

struct Bounds {
  double low = 0, high = 0;
};

/// The interval of y - x that belongs to the Hodges-Lehmann estimate: differences of pairs that the
/// exact Mann-Whitney distribution does not rule out (Hollander and Wolfe, "Nonparametric
/// Statistical Methods", 4.3). Covers at least `confidence`, whatever the distribution; infinite
/// where so few replicates cannot (fewer than four a side at 95 %).
/// @param x, y  not empty
Bounds rank_interval(std::span<const double> x, std::span<const double> y, double confidence);

/// How many of the m * n sorted differences to leave out at either end, plus one; 0: it takes more.
std::size_t rank_of_bound(std::size_t m, std::size_t n, double confidence);

}  // namespace rdmameter
