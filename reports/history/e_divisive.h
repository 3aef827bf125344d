// SPDX-License-Identifier: Apache-2.0
// Where does a series change? E-divisive with means of distances: D. Matteson and N. James, "A
// Nonparametric Approach for Multiple Change Point Analysis of Multivariate Data", J. American
// Statistical Association 109 (2014), as R's package ecp and Apache Otava have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rdmameter {

struct ChangePoint {
  std::size_t at;  ///< index of the first value after the change
  double p_value;  ///< of the permutation test
};

struct EDivisiveOptions {
  double significance = 0.01;  ///< largest p-value of a change point
  unsigned permutations = 999;
  std::size_t least_segment = 3;  ///< values before and after each change, at least
  std::uint32_t seed = 1;         ///< the same series has the same answer
};

/// The change points, ascending. Time grows with the square of the series' length.
std::vector<ChangePoint> e_divisive(std::span<const double> series,
                                    const EDivisiveOptions& options = {});

}  // namespace rdmameter
