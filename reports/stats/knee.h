// SPDX-License-Identifier: Apache-2.0
// From which number of things (QPs, connections) on is a rate lower, and how sure is that?
#pragma once

#include <cstdint>
#include <map>
#include <vector>

namespace rdmameter {

/// A rate of less than this share of another one is lower.
inline constexpr double kLowerRate = 0.9;

/// Between two numbers. What it says, the repetitions agree on.
struct Knee {
  std::uint64_t fast = 0;  ///< the most whose rate is not lower; 0: nothing was compared
  std::uint64_t slow = 0;  ///< from here on all rates are lower; 0: there is no such number
  std::uint64_t best = 0;  ///< the number whose rate the others were compared with in the end
  std::uint64_t most = 0;  ///< the largest number there is

  bool found() const { return slow != 0; }
  /// Neither: beyond `fast` some repetitions are lower, and others are not.
  bool undecided() const { return !found() && fast < most; }
};

/// A rate is lower if the repetitions are by more than a tenth lower than those of a smaller
/// number, all of them; it is not lower if none is. Of five repetitions and more, a fifth at either
/// end does not count: one that something else has disturbed neither makes a knee nor hides one.
/// @param rates  the repetitions' of each number, not empty
Knee find_knee(const std::map<std::uint64_t, std::vector<double>>& rates);

}  // namespace rdmameter
