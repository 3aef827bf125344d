// SPDX-License-Identifier: Apache-2.0
// Which pairs of ranks the traffic `pairs` measures together, and in which order.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "topologies/traffic/traffic.h"

namespace rdmameter {

/// Pairs that are measured at the same time: no rank is on the routes of two of them, so each finds
/// the network as if it were alone.
using PairRound = std::vector<Flow>;

/// A rank's part in a round.
struct PairTurn {
  Rank partner;  ///< the rank itself: none
  bool first;    ///< this rank's round trips come before the partner's
  bool operator==(const PairTurn&) const = default;
};

/// @param text  "all" or "sampled:K"
/// @return      partners of each rank; 0: all other ranks, as also where K is as many or more
/// @throws UsageError  it is neither
std::uint64_t partners_of_pairs(std::string_view text, Rank ranks);

/// The circle method: each rank has another partner in each of n - 1 rounds (n, if n is odd, and in
/// one of them none). Names of ranks and order of rounds are drawn. Where routes of a round's pairs
/// meet in a rank, as on a graph with relays, the round is parted into several.
/// @param partners  of each rank (of an odd number of ranks some have one less); 0: all
/// @pre  every rank can reach every other one
std::vector<PairRound> pair_rounds(const Graph& graph, std::uint64_t seed, std::uint64_t partners);

/// A rank's turns, by round.
std::vector<PairTurn> pair_turns(const std::vector<PairRound>& rounds, Rank rank);

}  // namespace rdmameter
