// SPDX-License-Identifier: Apache-2.0
// Which rank sends to which, asked by rank: what each needs of a traffic takes room for its own
// flows, not for those of all.
#pragma once

#include <vector>

#include "topologies/traffic/traffic.h"

namespace rdmameter {

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

}  // namespace rdmameter
