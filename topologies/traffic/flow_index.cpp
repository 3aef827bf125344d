// SPDX-License-Identifier: Apache-2.0
#include "topologies/traffic/flow_index.h"

#include <algorithm>

namespace rdmameter {

FlowIndex::FlowIndex(FlowSet flow_set, Rank ranks, std::vector<Flow> made)
    : flow_set_(flow_set), ranks_(ranks) {
  if (flow_set_ != FlowSet::made) return;
  to_.resize(ranks);
  from_.resize(ranks);
  for (const Flow& flow : made) {
    to_[flow.from].push_back(flow.to);
    from_[flow.to].push_back(flow.from);
  }
  for (auto* lists : {&to_, &from_})
    for (std::vector<Rank>& list : *lists) {
      std::ranges::sort(list);
      list.erase(std::unique(list.begin(), list.end()), list.end());
    }
}

std::vector<Rank> FlowIndex::others(Rank rank) const {
  std::vector<Rank> list;
  for (Rank other = 0; other < ranks_; ++other)
    if (other != rank) list.push_back(other);
  return list;
}

std::vector<Rank> FlowIndex::receivers(Rank from) const {
  return flow_set_ == FlowSet::others ? others(from) : to_[from];
}

std::vector<Rank> FlowIndex::senders(Rank to) const {
  return flow_set_ == FlowSet::others ? others(to) : from_[to];
}

bool FlowIndex::has(Rank from, Rank to) const {
  return flow_set_ == FlowSet::others ? from != to : std::ranges::binary_search(to_[from], to);
}

}  // namespace rdmameter
