// SPDX-License-Identifier: Apache-2.0
// A grid of A rows and B columns, each row and each column closed to a ring.
#include <fmt/format.h>

#include <algorithm>

#include "topologies/graphs/graph.h"

namespace rdmameter {
namespace {

Graph make_torus(const ShapeArguments& arguments, Rank ranks) {
  Graph graph(ranks);
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

ShapeFigures torus_figures(std::uint64_t a, std::uint64_t b) {
  const auto neighbours = [](std::uint64_t length) {
    return std::min<std::uint64_t>(length - 1, 2);
  };
  // From one place of a circle to all its places: the square's quarter, rounded down.
  const auto to_all = [](std::uint64_t length) { return length * length / 4; };
  const double sum = real(b * to_all(a) + a * to_all(b));
  ShapeFigures figures =
      regular_figures(neighbours(a) + neighbours(b), sum / real(a * b - 1), a / 2 + b / 2);
  figures.graph = fmt::format("torus2d:{}x{}", a, b);
  return figures;
}

/// At another number of ranks: of the torus nearest to a square.
std::optional<ShapeFigures> torus_figures_at(const ShapeArguments& arguments, std::uint64_t n) {
  const std::uint64_t a = arguments.numbers[0], b = arguments.numbers[1];
  if (a == 0 || b == 0 || a > kMaxPredictedRanks || b > kMaxPredictedRanks) return std::nullopt;
  if (a * b == n) return torus_figures(a, b);
  std::uint64_t side = 1;  // the greatest divisor up to the square root
  for (std::uint64_t i = 1; i * i <= n; ++i)
    if (n % i == 0) side = i;
  return torus_figures(side, n / side);
}

/// A little shear, so that the edges around the torus do not lie on those within.
Place on_grid(const ShapeArguments& arguments, Rank rank, Rank) {
  const std::uint64_t columns = arguments.numbers[1];
  const double x = real(rank % columns), y = real(rank / columns);
  return {x + 0.12 * y * y, y + 0.12 * x * x};
}

}  // namespace

extern constexpr Shape kTorus2d{
    .name = "torus2d",
    .arguments = ":AxB",
    .description = "A rows of B ranks, each row and column a ring",
    .why_not = [](const ShapeArguments& arguments, Rank ranks) -> std::string {
      const std::uint64_t rows = arguments.numbers[0], columns = arguments.numbers[1];
      // Compared by division, so that no product overflows.
      if (rows != 0 && columns == ranks / rows && ranks % rows == 0) return {};
      return fmt::format("torus2d:{}x{} does not have {} ranks: it has the product of A and B",
                         rows, columns, ranks);
    },
    .make = make_torus,
    .figures = torus_figures_at,
    .place = on_grid,
    .hops = [](const ShapeArguments& arguments, Rank from, Rank to, Rank) -> std::uint32_t {
      const auto rows = static_cast<Rank>(arguments.numbers[0]);
      const auto columns = static_cast<Rank>(arguments.numbers[1]);
      return around(from / columns, to / columns, rows) +
             around(from % columns, to % columns, columns);
    }};

}  // namespace rdmameter
