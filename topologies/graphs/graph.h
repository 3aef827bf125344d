// SPDX-License-Identifier: Apache-2.0
// Which ranks have queue pairs between them: a graph as pure data, and the table of its shapes.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.h"

namespace rdmameter {

// "name:2x4" as people type it: how an entry of a table of graphs, traffics or schedules is chosen.

/// The numbers behind the colon; none where there is no colon.
/// @return nothing: what stands there is no list of numbers with x between
std::optional<std::vector<std::uint64_t>> typed_numbers(std::string_view text);

/// How many numbers an entry takes whose arguments, with an x between two, are typed so: "" none,
/// ":AxB" two.
constexpr std::size_t argument_count(std::string_view arguments) {
  return arguments.empty() ? 0 : 1 + static_cast<std::size_t>(std::ranges::count(arguments, 'x'));
}

/// A function that an entry must have: without it the entry does not compile.
template <class Function>
struct Required {
  Function* function;
  constexpr Required(auto given) : function(given) {}
  template <class... Arguments>
  auto operator()(Arguments&&... arguments) const {
    return function(std::forward<Arguments>(arguments)...);
  }
};

template <class Entry>
struct ChosenEntry {
  const Entry* entry;
  std::vector<std::uint64_t> numbers;
};

/// @return nothing: there is no such entry, or it takes other arguments
template <class Entry>
std::optional<ChosenEntry<Entry>> find_entry(std::span<const Entry* const> entries,
                                             std::string_view text) {
  auto numbers = typed_numbers(text);
  const auto found = std::ranges::find(entries, text.substr(0, text.find(':')), &Entry::name);
  if (!numbers || found == entries.end() || numbers->size() != argument_count((*found)->arguments))
    return std::nullopt;
  return ChosenEntry<Entry>{*found, *std::move(numbers)};
}

/// @param kind  what the entries are, for the text: "graph"
/// @throws UsageError  there is no such entry (the text lists them), or it takes other arguments
template <class Entry>
ChosenEntry<Entry> read_entry(std::span<const Entry* const> entries, std::string_view kind,
                              std::string_view text) {
  if (auto found = find_entry(entries, text)) return *std::move(found);
  const std::string_view name = text.substr(0, text.find(':'));
  std::vector<std::string> known;
  for (const Entry* each : entries) {
    known.push_back(fmt::format("{}{}", each->name, each->arguments));
    if (each->name == name) throw UsageError("'{}': this {} is typed {}", text, kind, known.back());
  }
  throw UsageError("there is no {0} '{1}' ({0}s: {2})", kind, text, fmt::join(known, ", "));
}

using Rank = std::uint32_t;

/// Undirected, without loops or parallel edges. neighbours[r]: those of rank r, ascending.
struct Graph {
  std::vector<std::vector<Rank>> neighbours;

  Graph() = default;
  explicit Graph(std::size_t ranks) : neighbours(ranks) {}
  Rank ranks() const { return static_cast<Rank>(neighbours.size()); }
  std::size_t degree(Rank rank) const { return neighbours[rank].size(); }
  bool has_edge(Rank a, Rank b) const { return std::ranges::binary_search(neighbours[a], b); }
  /// Adds an edge unless it is there, or leads from a rank to itself.
  void add(Rank a, Rank b);
  /// (a, b) with a < b, ascending.
  std::vector<std::pair<Rank, Rank>> edges() const;
};

/// Where a rank stands in an ascending list that has it.
std::uint32_t place_of(std::span<const Rank> ascending, Rank rank);

/// The arguments of a shape: "torus2d:2x4" has the arguments 2 and 4.
struct ShapeArguments {
  std::vector<std::uint64_t> numbers;
  std::uint64_t seed = 0;
};

/// The figures of a graph at a number of ranks, without building it.
struct ShapeFigures {
  std::string graph = {};  ///< with its arguments at this size: "torus2d:8x8"; empty: as given
  std::uint64_t neighbours = 0;  ///< of the rank with most; QPs where there is one per edge
  double neighbours_mean = 0;
  double hops_mean = 0;  ///< over all pairs
  std::uint64_t hops_max = 0;
  bool one_qp = false;  ///< datagrams: one QP per rank, however many neighbours
};

/// The most ranks that figures are made for.
inline constexpr std::uint64_t kMaxPredictedRanks = 1U << 20;

/// Where a rank stands in a picture: to the right and down, in any unit, each its own.
struct Place {
  double x, y;
};

std::string fits_any(const ShapeArguments&, Rank ranks);
Place on_circle(const ShapeArguments&, Rank rank, Rank ranks);

/// The number of steps between two places on a circle of `length`, the shorter way.
constexpr Rank around(Rank from, Rank to, Rank length) {
  const Rank away = from < to ? to - from : from - to;
  return away < length - away ? away : length - away;
}

/// A count as a double, for formulas; all counts are exact in it.
constexpr double real(std::uint64_t count) {
  return static_cast<double>(count);
}

/// The figures of a graph whose ranks have equal numbers of neighbours.
inline ShapeFigures regular_figures(std::uint64_t neighbours, double hops_mean,
                                    std::uint64_t hops_max) {
  return {.neighbours = neighbours,
          .neighbours_mean = real(neighbours),
          .hops_mean = hops_mean,
          .hops_max = hops_max};
}

/// A shape of graph, all that the program knows of it. Adding one: a file with this entry, and its
/// name in graph.cpp.
struct Shape {
  std::string_view name;
  std::string_view arguments = "";  ///< how they are typed: "", ":K", ":AxB"
  std::string_view description;
  /// Why it cannot be made of so many ranks; empty: it can.
  std::string (*why_not)(const ShapeArguments&, Rank ranks) = fits_any;
  /// To be called where why_not() is empty.
  Required<Graph(const ShapeArguments&, Rank ranks)> make;
  /// Its closed form. @pre ranks are 2 to kMaxPredictedRanks; arguments are any, also those that
  /// why_not() refuses
  /// @return nothing: it does not exist at so many ranks (a hypercube of 6)
  Required<std::optional<ShapeFigures>(const ShapeArguments&, std::uint64_t ranks)> figures;
  /// To be called where why_not() is empty.
  Place (*place)(const ShapeArguments&, Rank rank, Rank ranks) = on_circle;
  /// How far two other ranks are from each other; null: only a search of the graph tells. To be
  /// called where why_not() is empty.
  std::uint32_t (*hops)(const ShapeArguments&, Rank from, Rank to, Rank ranks) = nullptr;
  bool drawn = false;       ///< by the seed
  bool datagrams = false;   ///< one UD QP at every rank: it has no other transport
  bool inflatable = false;  ///< can a rank have the QPs that it would have among more ranks?
};

std::span<const Shape* const> shapes();

/// A shape with its arguments, read from "torus2d:2x4".
struct ChosenShape {
  const Shape* shape;
  ShapeArguments arguments;

  /// @return  empty: it can be made
  std::string why_not(Rank ranks) const;
  Graph make(Rank ranks) const { return shape->make(arguments, ranks); }
  std::optional<ShapeFigures> figures(Rank ranks) const { return shape->figures(arguments, ranks); }
};

/// @return nothing: there is no such shape, or it takes other arguments
std::optional<ChosenShape> find_shape(std::string_view text, std::uint64_t seed = 0);

/// @throws UsageError  there is no such shape (the text lists them), or it takes other arguments
ChosenShape read_shape(std::string_view text, std::uint64_t seed);

/// The figures of a graph as a result names it. @return nothing: not such a shape, not at
/// so many ranks
std::optional<ShapeFigures> shape_figures(const std::string& graph, std::uint64_t ranks);

}  // namespace rdmameter
