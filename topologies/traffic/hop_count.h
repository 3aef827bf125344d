// SPDX-License-Identifier: Apache-2.0
// How far the messages of a traffic go over a graph: what is known of a case before it is planned,
// at any number of ranks. Neither the graph, where its shape has a closed form, nor the
// flows are made.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "topologies/traffic/traffic.h"

namespace rdmameter {

// Which rank sends to which, asked by rank: what each needs of a traffic takes room for its own
// flows, not for those of all.

/// By rank, ascending, each once. Empty: of every rank all others.
using RankLists = std::vector<std::vector<Rank>>;

/// @param flows      in any order; several of one pair count as one
/// @param of, other  the end by which it is listed, and what is listed
RankLists list_flows(Rank ranks, std::span<const Flow> flows, Rank Flow::*of, Rank Flow::*other);

std::vector<Rank> listed(const RankLists& lists, Rank rank, Rank ranks);

/// The number of ranks whose messages are looked at in a graph that must be searched.
inline constexpr Rank kSampledRanks = 64;

struct HopCount {
  std::uint32_t max = 0;    ///< of the ranks looked at
  double mean = 0;          ///< over the flows of the ranks looked at
  std::uint64_t bound = 0;  ///< no route of any rank has more
  Rank senders = 0;         ///< ranks that send
  Rank looked_at = 0;       ///< of these: evenly spread, if they are not all
  std::optional<Flow> unreached =
      {};  ///< the first one whose ranks no route connects; then no more is known

  bool sampled() const { return looked_at < senders; }
};

/// @pre why_not() of shape and traffic is empty
/// @param most  so many ranks are looked at of a graph without a closed form
HopCount count_hops(const ChosenShape& shape, const ChosenTraffic& traffic, Rank ranks,
                    Rank most = kSampledRanks);

}  // namespace rdmameter
