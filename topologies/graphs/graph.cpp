// SPDX-License-Identifier: Apache-2.0
#include "topologies/graphs/graph.h"

#include <algorithm>

namespace rdmameter {

bool Graph::has_edge(Rank a, Rank b) const {
  return std::ranges::binary_search(neighbours[a], b);
}

void Graph::add(Rank a, Rank b) {
  if (a == b) return;
  for (const auto& [from, to] : {std::pair{a, b}, std::pair{b, a}}) {
    std::vector<Rank>& list = neighbours[from];
    const auto place = std::ranges::lower_bound(list, to);
    if (place == list.end() || *place != to) list.insert(place, to);
  }
}

std::vector<std::pair<Rank, Rank>> Graph::edges() const {
  std::vector<std::pair<Rank, Rank>> list;
  for (Rank a = 0; a < ranks(); ++a)
    for (const Rank b : neighbours[a])
      if (a < b) list.emplace_back(a, b);
  return list;
}

std::uint32_t place_of(std::span<const Rank> ascending, Rank rank) {
  return static_cast<std::uint32_t>(std::ranges::lower_bound(ascending, rank) - ascending.begin());
}

}  // namespace rdmameter
