// SPDX-License-Identifier: Apache-2.0
// A grid of A rows and B columns, each row and each column closed to a ring.
#include <fmt/format.h>

#include "topologies/graphs/graphs.h"

namespace rdmameter {

std::string why_no_torus2d(const ShapeArguments& arguments, Rank ranks) {
  const std::uint64_t rows = arguments.numbers[0], columns = arguments.numbers[1];
  // Compared by division, so that no product overflows.
  if (rows != 0 && columns == ranks / rows && ranks % rows == 0) return {};
  return fmt::format("torus2d:{}x{} has not {} ranks: its two numbers make their product", rows,
                     columns, ranks);
}

Graph make_torus2d(const ShapeArguments& arguments, Rank ranks) {
  Graph graph{.neighbours = std::vector<std::vector<Rank>>(ranks)};
  const auto rows = static_cast<Rank>(arguments.numbers[0]);
  const auto columns = static_cast<Rank>(arguments.numbers[1]);
  for (Rank row = 0; row < rows; ++row)
    for (Rank column = 0; column < columns; ++column) {
      const Rank rank = row * columns + column;
      graph.add(rank, row * columns + (column + 1) % columns);
      graph.add(rank, (row + 1) % rows * columns + column);
    }
  return graph;
}

}  // namespace rdmameter
