// SPDX-License-Identifier: Apache-2.0
#include "topologies/graphs/graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/base/error.h"
#include "tests/topologies/searched.h"
#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

/// The most hops between any two ranks; kNoRoute where the graph is not connected.
std::uint32_t diameter(const Graph& graph) {
  std::uint32_t max = 0;
  for (Rank rank = 0; rank < graph.ranks(); ++rank)
    max = std::max(max, std::ranges::max(breadth_first_hops(graph, rank)));
  return max;
}

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Graph graph_of(const std::string& text, Rank ranks, std::uint64_t seed = 1) {
  const ChosenShape shape = read_shape(text, seed);
  EXPECT_THAT(shape.why_not(ranks), IsEmpty()) << text;
  return shape.make(ranks);
}

std::string refusal(const std::string& text, Rank ranks) {
  return read_shape(text, 1).why_not(ranks);
}

std::string unreadable(const std::string& text) {
  try {
    read_shape(text, 1);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

/// Every edge is there from both ends, once, and none leads back.
void expect_simple(const Graph& graph) {
  for (Rank rank = 0; rank < graph.ranks(); ++rank) {
    const auto& list = graph.neighbours[rank];
    EXPECT_EQ(std::set(list.begin(), list.end()).size(), list.size());
    EXPECT_TRUE(std::is_sorted(list.begin(), list.end()));
    for (const Rank other : list) {
      EXPECT_NE(other, rank);
      EXPECT_TRUE(graph.has_edge(other, rank));
    }
  }
}

TEST(Graph, EveryShapeIsSimpleAndConnected) {
  for (Rank ranks = 2; ranks <= kMostCounted; ++ranks)
    for (const std::string& text : shapes_among(ranks)) {
      const Graph graph = graph_of(text, ranks);
      EXPECT_EQ(graph.ranks(), ranks);
      expect_simple(graph);
      EXPECT_NE(diameter(graph), kNoRoute) << text << " of " << ranks;
    }
}

TEST(Graph, DegreesAreThoseOfTheShapes) {
  EXPECT_EQ(graph_of("mesh", 8).degree(3), 7u);
  EXPECT_EQ(graph_of("ring", 8).degree(3), 2u);
  EXPECT_EQ(graph_of("kring:3", 8).degree(3), 6u);
  EXPECT_EQ(graph_of("star", 8).degree(0), 7u);
  EXPECT_EQ(graph_of("star", 8).degree(5), 1u);
  EXPECT_EQ(graph_of("hypercube", 8).degree(3), 3u);
  EXPECT_EQ(graph_of("torus2d:3x3", 9).degree(4), 4u);
}

TEST(Graph, ARingOfTwoHasOneEdge) {
  EXPECT_THAT(graph_of("ring", 2).edges(), ElementsAre(std::pair(0u, 1u)));
}

TEST(Graph, ARingOfNHasNEdges) {
  EXPECT_EQ(graph_of("ring", 5).edges().size(), 5u);
}

TEST(Graph, ARandomGraphIsRegularAndTheSeedsOwn) {
  for (const Rank degree : {1u, 2u, 3u, 5u, 8u, 9u}) {
    const Graph graph = graph_of("random:" + std::to_string(degree), 10, 7);
    expect_simple(graph);
    for (Rank rank = 0; rank < 10; ++rank) EXPECT_EQ(graph.degree(rank), degree);
  }
  EXPECT_EQ(graph_of("random:3", 20, 5).edges(), graph_of("random:3", 20, 5).edges());
  EXPECT_NE(graph_of("random:3", 20, 5).edges(), graph_of("random:3", 20, 6).edges());
}

TEST(Graph, WhatCannotBeMadeSaysWhy) {
  for (const Shape* shape : shapes()) {
    const std::string arguments = argument_count(shape->arguments) == 0   ? ""
                                  : argument_count(shape->arguments) == 1 ? ":1"
                                                                          : ":1x1";
    EXPECT_THAT(refusal(std::string(shape->name) + arguments, 1), HasSubstr("--ranks 2"));
  }
  EXPECT_THAT(refusal("hypercube", 6), HasSubstr("power of two"));
  EXPECT_THAT(refusal("torus2d:2x3", 4), HasSubstr("product"));
  EXPECT_THAT(refusal("torus2d:0x4", 4), HasSubstr("product"));
  EXPECT_THAT(refusal("torus2d:18446744073709551615x2", 4), HasSubstr("product"));
  EXPECT_THAT(refusal("random:3", 5), HasSubstr("even"));
  EXPECT_THAT(refusal("random:4", 4), HasSubstr("from 1 to 3"));
  EXPECT_THAT(refusal("random:0", 4), HasSubstr("from 1 to 3"));
  EXPECT_THAT(refusal("kring:0", 4), HasSubstr("from 1 to 2"));
  EXPECT_THAT(refusal("kring:3", 4), HasSubstr("from 1 to 2"));
}

TEST(Graph, AnUnknownShapeIsToldWhichThereAre) {
  EXPECT_THAT(unreadable("rign"), HasSubstr("kring:K"));
  EXPECT_THAT(unreadable(""), HasSubstr("mesh"));
  for (const char* text : {"ring:1", "kring", "kring:", "kring:x", "kring:2x2", "torus2d:4",
                           "torus2d:2x", "torus2d:2x2x2", "random:-1"})
    EXPECT_NE(unreadable(text), "") << text;
}

TEST(Routes, LeadAlongShortestWays) {
  const Graph ring = graph_of("ring", 6);
  const Tree tree = tree_from(ring, 0);
  EXPECT_THAT(tree.hops, ElementsAre(0, 1, 2, 3, 2, 1));
  EXPECT_THAT(tree.first, ElementsAre(0, 1, 1, 1, 5, 5));
  EXPECT_EQ(diameter(ring), 3u);
  EXPECT_EQ(diameter(graph_of("mesh", 9)), 1u);
  EXPECT_EQ(diameter(graph_of("star", 9)), 2u);
  EXPECT_EQ(diameter(graph_of("hypercube", 16)), 4u);
  EXPECT_EQ(diameter(graph_of("torus2d:4x4", 16)), 4u);
}

TEST(Routes, EqualWaysAreSharedOut) {
  // Opposite on a ring: every rank goes ahead, so that no edge has more than another.
  const Graph ring = graph_of("ring", 4);
  for (Rank rank = 0; rank < 4; ++rank)
    EXPECT_EQ(tree_from(ring, rank).first[(rank + 2) % 4], (rank + 1) % 4);
}

TEST(Routes, EachHopComesNearer) {
  for (Rank ranks = 2; ranks <= kMostCounted; ++ranks)
    for (const std::string& text : graphs_among(ranks)) {
      const Graph graph = graph_of(text, ranks);
      const std::vector<std::vector<std::uint32_t>> hops = all_hops(graph);
      for (Rank from = 0; from < ranks; ++from) {
        const Tree tree = tree_from(graph, from);
        ASSERT_EQ(tree.hops, hops[from]) << text << " of " << ranks;
        for (Rank to = 0; to < ranks; ++to) {
          if (to == from) continue;
          ASSERT_EQ(hops[tree.first[to]][to] + 1, hops[from][to]) << text << " of " << ranks;
          ASSERT_EQ(hops[from][tree.parent[to]] + 1, hops[from][to]) << text << " of " << ranks;
        }
      }
    }
}

TEST(Routes, TellWhatCannotBeReached) {
  Graph graph(4);
  graph.add(0, 1);
  graph.add(2, 3);
  EXPECT_EQ(tree_from(graph, 0).hops[2], kUnreachable);
  EXPECT_EQ(diameter(graph), kNoRoute);
}

}  // namespace
}  // namespace rdmameter
