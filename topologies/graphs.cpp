// SPDX-License-Identifier: Apache-2.0
// The table of shapes: a shape is declared here and nowhere else.
#include "topologies/graphs/graphs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/error.h"
#include "topologies/graph.h"
#include "topologies/shape_text.h"

namespace rdmameter {
namespace {

std::string fits_any(const ShapeArguments&, Rank) {
  return {};
}

constexpr std::array kShapes{
    Shape{"mesh", "", 0, "a QP from every rank to every other", fits_any, make_mesh},
    Shape{"ring", "", 0, "a QP to each of two neighbours", fits_any, make_ring},
    Shape{"kring", ":K", 1, "a QP to each of the K next ranks on either side", why_no_kring,
          make_kring},
    Shape{"star", "", 0, "rank 0 in the middle, a QP from it to every other", fits_any, make_star},
    Shape{"hypercube", "", 0, "a QP to each rank whose number differs in one bit", why_no_hypercube,
          make_hypercube},
    Shape{"torus2d", ":AxB", 2, "A rows of B ranks, each row and column a ring", why_no_torus2d,
          make_torus2d},
    Shape{"random", ":D", 1, "D QPs at every rank, to ranks that are drawn (--seed)",
          why_no_random_regular, make_random_regular},
    Shape{"udmesh", "", 0, "one UD QP at every rank, and an address handle for every other",
          fits_any, make_mesh},
};

}  // namespace

std::span<const Shape> shapes() {
  return kShapes;
}

std::string ChosenShape::why_not(Rank ranks) const {
  if (ranks < 2) return "one rank has nobody to be connected with: use --ranks 2 or more";
  return shape->why_not(arguments, ranks);
}

ChosenShape read_shape(std::string_view text, std::uint64_t seed) {
  const auto parts = split_shape(text);
  const auto shape = std::ranges::find(kShapes, parts ? parts->name : "", &Shape::name);
  if (shape == kShapes.end()) {
    std::vector<std::string> known;
    for (const Shape& each : kShapes)
      known.push_back(fmt::format("{}{}", each.name, each.arguments));
    throw UsageError(
        fmt::format("there is no graph '{}' (graphs: {})", text, fmt::join(known, ", ")));
  }
  if (parts->numbers.size() != shape->argument_count)
    throw UsageError(
        fmt::format("'{}': this graph is typed {}{}", text, shape->name, shape->arguments));
  return {shape, {.numbers = parts->numbers, .seed = seed}};
}

}  // namespace rdmameter
