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

// ---- Between which bounds does the change of a few replicates lie?

/// The interval of y - x that belongs to the Hodges-Lehmann estimate: differences of pairs that the
/// exact Mann-Whitney distribution does not rule out (Hollander and Wolfe, "Nonparametric
/// Statistical Methods", 4.3). Covers at least `confidence`, whatever the distribution; infinite
/// where so few replicates cannot (fewer than four a side at 95 %).
/// @param x, y  not empty
Interval rank_interval(std::span<const double> x, std::span<const double> y, double confidence);

/// How many of the m * n sorted differences to leave out at either end, plus one; 0: it takes more.
std::size_t rank_of_bound(std::size_t m, std::size_t n, double confidence);

// ---- Could two sides differ as they do by chance alone?

/// p-values of the Mann-Whitney test: of all ways to deal the pooled values out to the two sides,
/// the share in which y ranks as high as it does, or higher (`greater`); as low, or lower (`less`).
struct MannWhitney {
  double greater = 1, less = 1;
};

/// Exact, ties included (each tied value has the mean of its ranks), up to kMaxExact values in
/// all; beyond that by the normal distribution with correction for ties and continuity, which is
/// then off by less than 0.001 (Mann and Whitney 1947).
/// @param x, y  replicates; an empty side gives 1
inline constexpr std::size_t kMaxExact = 64;
MannWhitney mann_whitney(std::span<const double> x, std::span<const double> y);

// ---- Between which bounds does the median lie that a case would have after endless repetitions?

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
Interval median_interval(std::span<const double> series, double confidence);

}  // namespace rdmameter
