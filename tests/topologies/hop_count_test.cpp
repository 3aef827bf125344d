// SPDX-License-Identifier: Apache-2.0
// Hops without graph and flows, against a search of the graph with every flow.
#include "topologies/traffic/hop_count.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

std::vector<std::string> shapes_of(Rank n) {
  std::vector<std::string> names{"mesh", "udmesh", "ring", "star", "random:3", "random:4"};
  for (Rank k = 1; 2 * k <= n && k < 5; ++k) names.push_back("kring:" + std::to_string(k));
  if ((n & (n - 1)) == 0) names.emplace_back("hypercube");
  for (Rank a = 1; a <= n; ++a)
    if (n % a == 0) names.push_back("torus2d:" + std::to_string(a) + "x" + std::to_string(n / a));
  return names;
}

struct Searched {
  std::uint32_t max = 0;
  double sum = 0, flows = 0;
  bool unreached = false;
};

Searched search(const Graph& graph, const std::vector<Flow>& flows) {
  std::set<std::pair<Rank, Rank>> different;
  for (const Flow& flow : flows) different.emplace(flow.from, flow.to);
  std::vector<Tree> trees;
  for (Rank rank = 0; rank < graph.ranks(); ++rank) trees.push_back(tree_from(graph, rank));
  Searched searched{.flows = static_cast<double>(different.size())};
  for (const auto& [from, to] : different) {
    const std::uint32_t hops = trees[from].hops[to];
    searched.unreached |= hops == kUnreachable;
    searched.max = std::max(searched.max, hops);
    searched.sum += hops;
  }
  return searched;
}

TEST(ClosedHops, AreThoseOfTheGraph) {
  std::set<std::string_view> compared;
  for (Rank n = 2; n <= 64; ++n)
    for (const std::string& name : shapes_of(n)) {
      const ChosenShape shape = read_shape(name, 1);
      if (shape.shape->hops == nullptr || !shape.why_not(n).empty()) continue;
      compared.insert(shape.shape->name);
      const Graph graph = shape.make(n);
      for (Rank from = 0; from < n; ++from) {
        const Tree tree = tree_from(graph, from);
        for (Rank to = 0; to < n; ++to) {
          if (to == from) continue;
          ASSERT_EQ(shape.shape->hops(shape.arguments, from, to, n), tree.hops[to])
              << name << " of " << n << ": " << from << " to " << to;
        }
      }
    }
  EXPECT_EQ(compared.size(), shapes().size() - 1) << "all but random";
}

TEST(CollectiveReceivers, AreThoseOfItsSchedule) {
  for (const Collective* collective : collectives())
    for (Rank n = 2; n <= 33; ++n)
      for (const std::uint64_t words : {1, 2, 200}) {
        std::vector<std::set<Rank>> receivers(n);
        for (const auto& flow : collective_totals(*collective, n, words).flows)
          receivers[flow.from].insert(flow.to);
        for (Rank rank = 0; rank < n; ++rank) {
          const std::vector<Rank> told = collective_receivers(*collective, rank, n);
          EXPECT_EQ(std::set<Rank>(told.begin(), told.end()), receivers[rank])
              << collective->name << " of " << n << ", rank " << rank << ", words " << words;
          EXPECT_EQ(told.size(), receivers[rank].size()) << collective->name;
        }
      }
}

TEST(CountHops, IsThatOfEveryFlow) {
  int reached = 0;
  for (const Rank n : {2, 3, 6, 7, 16})
    for (const std::string& name : shapes_of(n))
      for (const TrafficKind* kind : traffic_kinds()) {
        const ChosenShape shape = read_shape(name, 1);
        const std::string arguments = kind->argument_count == 0 ? "" : ":1";
        const ChosenTraffic traffic = read_traffic(std::string(kind->name) + arguments);
        if (!shape.why_not(n).empty()) continue;
        const HopCount hops = count_hops(shape, traffic, n);
        const Graph graph = shape.make(n);
        std::vector<Flow> flows;
        for (Rank from = 0; kind->flow_set != FlowSet::made && from < n; ++from)
          for (Rank to = 0; to < n; ++to)
            if (kind->flow_set == FlowSet::others ? from != to : graph.has_edge(from, to))
              flows.push_back({from, to});
        if (kind->make != nullptr) flows = flows_of(kind->make(n, traffic.numbers));
        if (kind->flow_set == FlowSet::made && kind->collective != nullptr)
          for (const auto& flow : collective_totals(*kind->collective, n, 100).flows)
            flows.push_back({flow.from, flow.to});
        const Searched searched = search(graph, flows);
        ASSERT_EQ(hops.unreached.has_value(), searched.unreached) << name << " " << kind->name;

        if (searched.unreached) continue;
        ++reached;
        EXPECT_EQ(hops.max, searched.max) << name << " " << kind->name << " of " << n;
        EXPECT_EQ(hops.bound, searched.max) << name << " " << kind->name << " of " << n;
        EXPECT_NEAR(hops.mean, searched.sum / searched.flows, 1e-9) << name << " " << kind->name;
        EXPECT_FALSE(hops.sampled());
      }
  EXPECT_GT(reached, 500);
}

TEST(CountHops, LooksAtSomeRanksOfALargeRandomGraph) {
  const ChosenShape shape = read_shape("random:4", 7);
  const ChosenTraffic alltoall = read_traffic("alltoall");
  const HopCount all = count_hops(shape, alltoall, 300, 300);
  const HopCount sampled = count_hops(shape, alltoall, 300);
  EXPECT_FALSE(all.sampled());
  EXPECT_TRUE(sampled.sampled());
  EXPECT_EQ(sampled.looked_at, kSampledRanks);
  EXPECT_NEAR(sampled.mean, all.mean, 0.02 * all.mean);
  EXPECT_LE(sampled.max, all.max);
  EXPECT_GE(sampled.bound, all.max);
}

TEST(CountHops, NamesTheFirstThatNoRouteConnects) {
  // Of random:1 each rank has one neighbour, and no route to the others.
  const ChosenShape shape = read_shape("random:1", 1);
  const Rank neighbour = shape.make(200).neighbours[0][0];
  const HopCount hops = count_hops(shape, read_traffic("alltoall"), 200);
  EXPECT_EQ(hops.unreached, (Flow{0, neighbour == 1 ? 2U : 1U}));
  EXPECT_FALSE(count_hops(shape, read_traffic("neighbours"), 200).unreached);
}

}  // namespace
}  // namespace rdmameter
