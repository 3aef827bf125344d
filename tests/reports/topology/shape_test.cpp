// SPDX-License-Identifier: Apache-2.0
// Closed forms against graphs that are built and searched.
#include "reports/topology/shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "tests/reports/topology_samples.h"

namespace rdmameter {
namespace {

using Graph = std::vector<std::vector<std::uint32_t>>;

Graph from_edges(std::uint64_t n, const std::set<std::pair<std::uint64_t, std::uint64_t>>& edges) {
  Graph graph(n);
  for (const auto& [a, b] : edges) {
    if (a == b) continue;
    graph[a].push_back(static_cast<std::uint32_t>(b));
  }
  return graph;
}

Graph kring(std::uint64_t k, std::uint64_t n) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> edges;
  for (std::uint64_t i = 0; i < n; ++i)
    for (std::uint64_t away = 1; away <= k; ++away) {
      edges.emplace(i, (i + away) % n);
      edges.emplace((i + away) % n, i);
    }
  return from_edges(n, edges);
}

Graph star(std::uint64_t n) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> edges;
  for (std::uint64_t i = 1; i < n; ++i) {
    edges.emplace(0, i);
    edges.emplace(i, 0);
  }
  return from_edges(n, edges);
}

Graph torus(std::uint64_t a, std::uint64_t b) {
  std::set<std::pair<std::uint64_t, std::uint64_t>> edges;
  for (std::uint64_t x = 0; x < a; ++x)
    for (std::uint64_t y = 0; y < b; ++y)
      for (const std::uint64_t other : {(x + 1) % a * b + y, x * b + (y + 1) % b}) {
        edges.emplace(x * b + y, other);
        edges.emplace(other, x * b + y);
      }
  return from_edges(a * b, edges);
}

void expect_figures(const std::string& name, const Graph& graph) {
  const auto figures = shape_figures(name, graph.size());
  ASSERT_TRUE(figures) << name;
  double sum = 0, degrees = 0;
  std::uint64_t most_hops = 0, most_neighbours = 0;
  for (std::uint32_t from = 0; from < graph.size(); ++from) {
    most_neighbours = std::max<std::uint64_t>(most_neighbours, graph[from].size());
    degrees += static_cast<double>(graph[from].size());
    for (const std::uint64_t hops : sample_distances(graph, from)) {
      sum += static_cast<double>(hops);
      most_hops = std::max(most_hops, hops);
    }
  }
  const auto n = static_cast<double>(graph.size());
  EXPECT_EQ(figures->graph, name);
  EXPECT_EQ(figures->neighbours, most_neighbours) << name << " of " << n;
  EXPECT_DOUBLE_EQ(figures->neighbours_mean, degrees / n) << name << " of " << n;
  EXPECT_NEAR(figures->hops_mean, sum / (n * (n - 1)), 1e-9) << name << " of " << n;
  EXPECT_EQ(figures->hops_max, most_hops) << name << " of " << n;
}

TEST(ShapeFigures, AreThoseOfTheGraph) {
  for (std::uint64_t n = 2; n <= 17; ++n) {
    expect_figures("mesh", sample_graph("mesh", n));
    expect_figures("ring", sample_graph("ring", n));
    expect_figures("star", star(n));
    for (const std::uint64_t k : {1, 2, 3, 9})
      expect_figures("kring:" + std::to_string(k), kring(k, n));
  }
  for (const std::uint64_t n : {2, 4, 8, 16, 64})
    expect_figures("hypercube", sample_graph("hypercube", n));
  for (std::uint64_t a = 1; a <= 6; ++a)
    for (std::uint64_t b = a == 1 ? 2 : 1; b <= 6; ++b)
      expect_figures("torus2d:" + std::to_string(a) + "x" + std::to_string(b), torus(a, b));
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
  EXPECT_FALSE(shape_figures("mesh", kMostPredictedRanks + 1));
}

}  // namespace
}  // namespace rdmameter
