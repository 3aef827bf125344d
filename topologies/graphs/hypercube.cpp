// SPDX-License-Identifier: Apache-2.0
// log2(n) neighbours: those whose numbers differ in one bit.
#include <fmt/format.h>

#include <bit>
#include <iterator>

#include "topologies/graphs/graph.h"

namespace rdmameter {
namespace {

/// Each dimension has a direction of its own, so that no edge lies on another.
Place on_cube(const ShapeArguments&, Rank rank, Rank) {
  constexpr Place kDirections[] = {{1, 0},        {0, 1},       {0.45, 0.32}, {-0.35, 0.55},
                                   {0.21, -0.27}, {0.13, 0.17}, {-0.09, 0.07}};
  Place place{0, 0};
  for (std::size_t bit = 0; bit < std::size(kDirections); ++bit)
    if ((rank >> bit & 1U) != 0) {
      place.x += kDirections[bit].x;
      place.y += kDirections[bit].y;
    }
  return place;
}

}  // namespace

extern constexpr Shape kHypercube{
    .name = "hypercube",
    .description = "a QP to each rank whose number differs in one bit",
    .why_not = [](const ShapeArguments&, Rank ranks) -> std::string {
      if (std::has_single_bit(ranks)) return {};
      return fmt::format("a hypercube needs a power of two of ranks, not {}: use --ranks {} or {}",
                         ranks, std::bit_floor(ranks), std::bit_ceil(ranks));
    },
    .make =
        [](const ShapeArguments&, Rank ranks) {
          Graph graph(ranks);
          for (Rank rank = 0; rank < ranks; ++rank)
            for (Rank bit = 1; bit < ranks; bit *= 2) graph.add(rank, rank ^ bit);
          return graph;
        },
    .figures = [](const ShapeArguments&, std::uint64_t n) -> std::optional<ShapeFigures> {
      if (!std::has_single_bit(n)) return std::nullopt;
      const auto dimensions = static_cast<std::uint64_t>(std::countr_zero(n));
      return regular_figures(dimensions, real(n) / 2 * real(dimensions) / real(n - 1), dimensions);
    },
    .place = on_cube,
    .hops = [](const ShapeArguments&, Rank from, Rank to,
               Rank) { return static_cast<std::uint32_t>(std::popcount(from ^ to)); }};

}  // namespace rdmameter
