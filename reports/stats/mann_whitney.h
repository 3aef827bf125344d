// SPDX-License-Identifier: Apache-2.0
// Could two sides differ as they do by chance alone?
#pragma once

#include <cstddef>
#include <span>

namespace rdmameter {

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

}  // namespace rdmameter
