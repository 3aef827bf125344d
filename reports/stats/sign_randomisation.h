// SPDX-License-Identifier: Apache-2.0
// Could pairs whose order was drawn at random differ as they do by chance alone?
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace rdmameter {

/// Up to that many pairs all sign patterns are counted; beyond, 2^20 are drawn.
inline constexpr std::size_t kMaxExactPairs = 20;

/// Of all ways to turn pairs round, the share in which the worst member is as bad as it is, or
/// worse: the mean over the pairs of each member, by its root mean square, the largest of the
/// members. Turning a pair round turns all its members round, so that many members cost nothing,
/// and the least p-value is 1 / 2^pairs. It needs nothing of the noise (Fisher 1935): whatever
/// disturbed the measurements met the sides by the order drawn.
/// @param members  differences of each, pair by pair, all as many; above 0: worse
/// @param seed     of the patterns drawn
double sign_randomisation(std::span<const std::vector<double>> members, std::uint64_t seed = 1);

/// The least number of pairs by which a p-value can be as low as `p`.
std::size_t pairs_for(double p);

}  // namespace rdmameter
