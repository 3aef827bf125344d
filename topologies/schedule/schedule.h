// SPDX-License-Identifier: Apache-2.0
// In which order a rank sends to the others, and what it waits for in between.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "topologies/traffic/traffic.h"

namespace rdmameter {

/// The receivers of a rank's messages, in this order, and the senders whose messages it then
/// awaits, before its next round.
struct Round {
  std::vector<Rank> to, from;
  bool operator==(const Round&) const = default;
};

/// All that the program knows of a schedule. Adding one: a file with this entry, and its
/// name in schedule.cpp.
struct Schedule {
  static constexpr std::string_view arguments = "";

  std::string_view name;
  std::string_view description;
  /// Which of an exchange's rounds a flow belongs to, and its place in the round.
  Required<std::uint32_t(Flow flow, Rank ranks)> round, place;
};

std::span<const Schedule* const> schedules();

/// @throws UsageError  there is no such schedule; the text lists them
inline const Schedule& find_schedule(std::string_view name) {
  return *read_entry(schedules(), "schedule", name).entry;
}

/// How many ranks ahead a flow goes.
constexpr std::uint32_t ranks_ahead(Flow flow, Rank ranks) {
  return (flow.to + ranks - flow.from) % ranks;
}

/// A rank's rounds of one exchange; those in which it has no part are left out.
std::vector<Round> rounds_of(Rank rank, std::span<const Flow> flows, Rank ranks,
                             const Schedule& schedule);

// Which pairs of ranks the traffic `pairs` measures together, and in which order.

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
