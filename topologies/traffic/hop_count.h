// SPDX-License-Identifier: Apache-2.0
// How far the messages of a traffic go over a graph: what is known of a case before it is planned,
// at any number of ranks. Neither the graph, where its shape has a closed form, nor the
// flows are made.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "topologies/traffic/traffic.h"

namespace rdmameter {

// Which rank sends to which, asked by rank: what each needs of a traffic takes room for its own
// flows, not for those of all.

class FlowIndex {
 public:
  FlowIndex() = default;
  /// @param made  of FlowSet::made, in any order; several of one pair count as one
  FlowIndex(FlowSet flow_set, Rank ranks, std::vector<Flow> made);

  // Ascending, each once. @pre FlowSet is not `edges`: the graph has them
  std::vector<Rank> receivers(Rank from) const;
  std::vector<Rank> senders(Rank to) const;
  bool has(Rank from, Rank to) const;

 private:
  std::vector<Rank> others(Rank rank) const;

  FlowSet flow_set_ = FlowSet::made;
  Rank ranks_ = 0;
  std::vector<std::vector<Rank>> to_, from_;  ///< of FlowSet::made, by rank
};

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
