// SPDX-License-Identifier: Apache-2.0
// Between which bounds does the median lie that a case would have after endless repetitions?
#pragma once

#include <span>

#include "reports/stats/rank_interval.h"

namespace rdmameter {

/// How many repetitions of a series say as much as one independent value: 1 where each says
/// something of its own, 3 where each keeps half of what the one before deviated by.
///
/// (1 + r) / (1 - r), the factor by which an autoregressive series of first order widens the
/// variance of its mean; r is the correlation of neighbours' ranks, which outliers cannot feign,
/// with the bias that a series of n has (-(1 + 3 r) / n; Kendall, Biometrika 41, 1954) taken back.
/// @param series  in the order of measurement
double repetitions_per_value(std::span<const double> series);

/// The sign test's interval of the median (Hollander and Wolfe, "Nonparametric Statistical
/// Methods", 3.6), its ranks moved apart by the root of repetitions_per_value(). Infinite where the
/// series is too short to say.
/// @param series  in the order of measurement, not empty
Bounds median_interval(std::span<const double> series, double confidence);

}  // namespace rdmameter
