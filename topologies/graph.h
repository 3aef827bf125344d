// SPDX-License-Identifier: Apache-2.0
// Which ranks have queue pairs between them: a graph as pure data, and the table of its shapes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rdmameter {

using Rank = std::uint32_t;

/// Undirected, without loops or parallel edges. neighbours[r]: those of rank r, ascending.
struct Graph {
  std::vector<std::vector<Rank>> neighbours;

  Rank ranks() const { return static_cast<Rank>(neighbours.size()); }
  std::size_t degree(Rank rank) const { return neighbours[rank].size(); }
  bool has_edge(Rank a, Rank b) const;
  /// Adds an edge unless it is there, or leads from a rank to itself.
  void add(Rank a, Rank b);
  /// (a, b) with a < b, ascending.
  std::vector<std::pair<Rank, Rank>> edges() const;
};

/// Where a rank stands in an ascending list that has it.
std::uint32_t place_of(std::span<const Rank> ascending, Rank rank);

/// What a shape is made of: "torus2d:2x4" has the arguments 2 and 4.
struct ShapeArguments {
  std::vector<std::uint64_t> numbers;
  std::uint64_t seed = 0;
};

/// A shape of graph: its name, how its arguments are typed, and how it is made. Adding one: its
/// file under graphs/ and its row in graphs.cpp.
struct Shape {
  std::string_view name;
  std::string_view arguments;  ///< "", ":K", ":AxB"
  std::size_t argument_count;
  std::string_view description;
  /// Why it cannot be made of so many ranks; empty: it can.
  std::string (*why_not)(const ShapeArguments&, Rank ranks);
  /// To be called where why_not() is empty.
  Graph (*make)(const ShapeArguments&, Rank ranks);
};

std::span<const Shape> shapes();

/// A shape with its arguments, read from "torus2d:2x4".
struct ChosenShape {
  const Shape* shape;
  ShapeArguments arguments;

  /// @return  empty: it can be made
  std::string why_not(Rank ranks) const;
  Graph make(Rank ranks) const { return shape->make(arguments, ranks); }
};

/// @throws UsageError  there is no such shape (the text lists them), or it takes other arguments
ChosenShape read_shape(std::string_view text, std::uint64_t seed);

}  // namespace rdmameter
