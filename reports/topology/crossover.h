// SPDX-License-Identifier: Apache-2.0
// From how many ranks on is another shape the better one?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/topology/model.h"

namespace rdmameter {

/// Up to so many ranks shapes are held against each other.
inline constexpr std::uint64_t kMostComparedRanks = 16384;

/// Two shapes by one number, from the least number of ranks on at which they differ by more than
/// a hundredth.
struct Crossover {
  std::string number;  ///< "mean latency", "set-up time", "memory of a rank", "alltoall"
  std::optional<std::uint64_t> size_bytes;  ///< nothing: it does not depend on the size
  std::string below, above;         ///< the better shape on either side; alike: `below` throughout
  std::optional<std::uint64_t> at;  ///< the first number of ranks at which `above` is better
  /// 95 % interval of `at`; nothing: too few observations, or it might not exist at all.
  std::optional<std::uint64_t> low, high;
};

/// Every two measured shapes by each number that the model gives. Where the shapes differ by
/// less than a hundredth up to kMostComparedRanks there is nothing to tell.
std::vector<Crossover> crossovers(const TopologyModel& model);

}  // namespace rdmameter
