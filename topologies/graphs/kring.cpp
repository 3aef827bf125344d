// SPDX-License-Identifier: Apache-2.0
// A ring with chords: every rank with the K next ones on either side.
#include <fmt/format.h>

#include "topologies/graphs/graphs.h"

namespace rdmameter {

std::string why_no_kring(const ShapeArguments& arguments, Rank ranks) {
  const std::uint64_t k = arguments.numbers[0];
  if (k >= 1 && 2 * k <= ranks) return {};
  return fmt::format("kring:{} of {} ranks: K is from 1 to {}, half of the ranks", k, ranks,
                     ranks / 2);
}

Graph make_kring(const ShapeArguments& arguments, Rank ranks) {
  Graph graph{.neighbours = std::vector<std::vector<Rank>>(ranks)};
  const auto k = static_cast<Rank>(arguments.numbers[0]);
  for (Rank rank = 0; rank < ranks; ++rank)
    for (Rank distance = 1; distance <= k; ++distance) graph.add(rank, (rank + distance) % ranks);
  return graph;
}

}  // namespace rdmameter
