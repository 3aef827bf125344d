// SPDX-License-Identifier: Apache-2.0
// Closed forms against graphs that are built and searched.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/topologies/searched.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {
namespace {

void expect_figures(const std::string& name, Rank n) {
  const auto figures = shape_figures(name, n);
  ASSERT_TRUE(figures) << name;
  const Graph graph = read_shape(name, 1).make(n);
  double sum = 0;
  std::uint64_t max_hops = 0, max_neighbours = 0;
  for (Rank from = 0; from < n; ++from) {
    max_neighbours = std::max<std::uint64_t>(max_neighbours, graph.degree(from));
    for (const std::uint64_t hops : breadth_first_hops(graph, from)) {
      sum += real(hops);
      max_hops = std::max(max_hops, hops);
    }
  }
  EXPECT_EQ(figures->graph, name);
  EXPECT_EQ(figures->neighbours, max_neighbours) << name << " of " << n;
  EXPECT_DOUBLE_EQ(figures->neighbours_mean, 2 * real(graph.edges().size()) / n)
      << name << " of " << n;
  EXPECT_NEAR(figures->hops_mean, sum / (real(n) * (n - 1)), 1e-9) << name << " of " << n;
  EXPECT_EQ(figures->hops_max, max_hops) << name << " of " << n;
}

TEST(ShapeFigures, AreThoseOfTheGraph) {
  std::set<const Shape*> compared;
  const auto compare = [&compared](const std::string& name, Rank n) {
    expect_figures(name, n);
    compared.insert(read_shape(name, 1).shape);
  };
  for (Rank n = 2; n <= kMostCounted; ++n)
    for (const std::string& name : shapes_among(n))
      if (!read_shape(name, 1).shape->drawn) compare(name, n);
  // A prediction may have a K that no graph of so few ranks has.
  for (Rank n = 2; n <= 17; ++n) compare("kring:9", n);
  for (const Shape* shape : shapes())
    EXPECT_TRUE(shape->drawn || compared.contains(shape))
        << shape->name << " is not among those of searched.h";
}

TEST(ShapeFigures, ATorusTakesTheShapeNearestToASquareAtAnotherSize) {
  EXPECT_EQ(shape_figures("torus2d:2x4", 64)->graph, "torus2d:8x8");
  EXPECT_EQ(shape_figures("torus2d:2x4", 12)->graph, "torus2d:3x4");
  EXPECT_EQ(shape_figures("torus2d:2x4", 8)->graph, "torus2d:2x4");
}

TEST(ShapeFigures, ARandomGraphIsNearTheLeastHopsThatItsDegreeAllows) {
  const auto figures = shape_figures("random:4", 16384);
  ASSERT_TRUE(figures);
  // At most 4 * 3^(h-1) ranks are h hops away: 7.9 hops on average, were the tree never to close.
  EXPECT_GT(figures->hops_mean, 7.9);
  EXPECT_LT(figures->hops_mean, 9.2);
  EXPECT_EQ(figures->neighbours, 4U);
  EXPECT_EQ(shape_figures("random:3", 4)->hops_max, 1U);
}

TEST(ShapeFigures, AreNoneOfWhatDoesNotExist) {
  for (const char* graph : {"", "meshes", "mesh:2", "kring", "kring:", "kring:0", "kring:-1",
                            "kring:2x", "torus2d", "torus2d:4", "torus2d:0x4", "torus2d:4x4x4",
                            "random:1", "random:x", "ring:2", "hypercube:3"})
    EXPECT_FALSE(shape_figures(graph, 8)) << graph;
  EXPECT_FALSE(shape_figures("hypercube", 6));
  EXPECT_FALSE(shape_figures("random:3", 9)) << "ranks times degree is odd";
  EXPECT_FALSE(shape_figures("random:8", 8));
  EXPECT_FALSE(shape_figures("mesh", 1));
  EXPECT_FALSE(shape_figures("mesh", kMaxPredictedRanks + 1));
}

TEST(ShapePlaces, AreOneForEachRank) {
  std::set<const Shape*> looked_at;
  for (const std::string& name : shapes_among(8)) {
    const ChosenShape chosen = read_shape(name, 1);
    std::set<std::pair<double, double>> places;
    for (Rank rank = 0; rank < 8; ++rank) {
      const Place place = chosen.shape->place(chosen.arguments, rank, 8);
      places.emplace(place.x, place.y);
    }
    EXPECT_EQ(places.size(), 8U) << name;
    looked_at.insert(chosen.shape);
  }
  for (const Shape* shape : shapes())
    EXPECT_TRUE(looked_at.contains(shape)) << shape->name << " is not among those of searched.h";
}

}  // namespace
}  // namespace rdmameter
