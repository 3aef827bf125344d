// SPDX-License-Identifier: Apache-2.0
#include "topologies/graphs/graph.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "core/base/parse_value.h"

namespace rdmameter {

std::optional<std::vector<std::uint64_t>> typed_numbers(std::string_view text) {
  std::vector<std::uint64_t> numbers;
  const auto colon = text.find(':');
  if (colon == text.npos) return numbers;
  for (const std::string_view part : split(text.substr(colon + 1), "x")) {
    const auto number = parse_count(part);
    if (!number) return std::nullopt;
    numbers.push_back(*number);
  }
  return numbers;
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

// The list of shapes, and how one is chosen from it.

// Each in its own file.
extern const Shape kMesh, kRing, kKring, kStar, kHypercube, kTorus2d, kRandomRegular, kUdmesh;

namespace {

constexpr std::array kShapes{&kMesh,      &kRing,    &kKring,         &kStar,
                             &kHypercube, &kTorus2d, &kRandomRegular, &kUdmesh};

}  // namespace

std::string fits_any(const ShapeArguments&, Rank) {
  return {};
}

Place on_circle(const ShapeArguments&, Rank rank, Rank ranks) {
  const double turn = 2 * std::numbers::pi * real(rank) / real(ranks);
  return {std::sin(turn), -std::cos(turn)};
}

std::span<const Shape* const> shapes() {
  return kShapes;
}

std::string ChosenShape::why_not(Rank ranks) const {
  if (ranks < 2) return "a graph has two ranks or more: use --ranks 2 or more";
  return shape->why_not(arguments, ranks);
}

std::optional<ChosenShape> find_shape(std::string_view text, std::uint64_t seed) {
  const auto found = find_entry(shapes(), text);
  if (!found) return std::nullopt;
  return ChosenShape{found->entry, {.numbers = found->numbers, .seed = seed}};
}

ChosenShape read_shape(std::string_view text, std::uint64_t seed) {
  const auto found = read_entry(shapes(), "graph", text);
  return {found.entry, {.numbers = found.numbers, .seed = seed}};
}

std::optional<ShapeFigures> shape_figures(const std::string& graph, std::uint64_t ranks) {
  const auto chosen = find_shape(graph);
  if (!chosen || ranks < 2 || ranks > kMaxPredictedRanks) return std::nullopt;
  auto figures = chosen->shape->figures(chosen->arguments, ranks);
  if (figures && figures->graph.empty()) figures->graph = graph;
  return figures;
}

}  // namespace rdmameter
