// SPDX-License-Identifier: Apache-2.0
// What a handful of replicates says by itself: its middle and its spread.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "core/base/lists.h"

namespace rdmameter {

/// A number that may not be known.
using Number = std::optional<double>;

Number known_median(const std::vector<double>& values);  ///< of none: nothing

/// @param values  not empty
double mean(std::span<const double> values);

/// The sum of their squared distances from it.
double squares_around(std::span<const double> values, double centre);

/// The standard deviation of a normal distribution, by its median absolute deviation.
inline constexpr double kMadOfNormal = 1.4826;

/// The standard deviation of a sample (divided by n - 1); 0 for fewer than two values.
double standard_deviation(std::span<const double> values);

}  // namespace rdmameter
