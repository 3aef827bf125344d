// SPDX-License-Identifier: Apache-2.0
// Whom a rank meets in a barrier, and in which order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "topologies/graphs/graph.h"

namespace rdmameter {

/// Pairs of ranks, the lower one first.
using RankPairs = std::set<std::pair<Rank, Rank>>;

inline bool holds(const RankPairs& pairs, Rank a, Rank b) {
  return pairs.contains(std::minmax(a, b));
}

/// A step of a rank's barrier.
struct BarrierMeeting {
  Rank ahead, behind;  ///< it sends to `ahead` and receives from `behind`
  std::uint32_t word;  ///< of those that `ahead` hears: which step of its own it is there
};

/// A rank's steps. Dissemination; where it would need an avoided pair, up and down a tree
/// that has none.
/// @throws MeasurementError  no tree reaches all ranks
std::vector<BarrierMeeting> barrier_meetings(Rank rank, Rank ranks, const RankPairs& avoided);

/// The ranks that a rank's barrier has to do with, each once, ascending.
std::vector<Rank> barrier_partners(const std::vector<BarrierMeeting>& meetings);

}  // namespace rdmameter
