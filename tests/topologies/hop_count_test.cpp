// SPDX-License-Identifier: Apache-2.0
// Hops without graph and flows, against a search of the graph with every flow.
#include "topologies/traffic/hop_count.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/topologies/searched.h"

namespace rdmameter {
namespace {

struct Searched {
  std::uint32_t max = 0;
  double sum = 0, flows = 0;
  bool unreached = false;
};

using Hops = std::vector<std::vector<std::uint32_t>>;

/// Each pair of ranks between which messages go counts once.
Searched search(const Hops& hops, const std::set<std::pair<Rank, Rank>>& flows) {
  Searched searched{.flows = real(flows.size())};
  for (const auto& [from, to] : flows) {
    searched.unreached |= hops[from][to] == kNoRoute;
    searched.max = std::max(searched.max, hops[from][to]);
    searched.sum += hops[from][to];
  }
  return searched;
}

TEST(ClosedHops, AreThoseOfTheGraph) {
  std::set<std::string_view> compared;
  for (Rank n = 2; n <= kMostCounted; ++n)
    for (const std::string& name : shapes_among(n)) {
      const ChosenShape shape = read_shape(name, 1);
      if (shape.shape->hops == nullptr) continue;
      compared.insert(shape.shape->name);
      const Graph graph = shape.make(n);
      for (Rank from = 0; from < n; ++from) {
        const std::vector<std::uint32_t> hops = breadth_first_hops(graph, from);
        for (Rank to = 0; to < n; ++to) {
          if (to == from) continue;
          ASSERT_EQ(shape.shape->hops(shape.arguments, from, to, n), hops[to])
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

using Pairs = std::set<std::pair<Rank, Rank>>;

/// Of a traffic whose flows do not depend on the graph. Those of a collective are its steps'.
Pairs pairs_of(const TrafficKind& kind, const TrafficArguments& arguments, Rank n) {
  Pairs pairs;
  if (kind.flow_set == FlowSet::others)
    for (Rank from = 0; from < n; ++from)
      for (Rank to = 0; to < n; ++to)
        if (from != to) pairs.emplace(from, to);
  if (kind.make != nullptr)
    for (const Flow& flow : flows_of(kind.make(n, arguments))) pairs.emplace(flow.from, flow.to);
  if (kind.flow_set == FlowSet::made && kind.collective != nullptr)
    for (Rank from = 0; from < n; ++from)
      for (const CollectiveStep& step : kind.collective->make(from, n, 100).steps)
        if (step.send) pairs.emplace(from, step.send->to);
  return pairs;
}

TEST(CountHops, IsThatOfEveryFlow) {
  int reached = 0;
  for (Rank n = 2; n <= kMostCounted; ++n) {
    std::vector<std::string> names = graphs_among(n);
    if (n % 2 == 0) names.emplace_back("random:1");  // in parts
    std::map<std::string, Hops> searches;
    for (const std::string& name : names) searches[name] = all_hops(read_shape(name, 1).make(n));
    for (const TrafficKind* kind : traffic_kinds()) {
      const std::string arguments = argument_count(kind->arguments) == 0 ? "" : ":1";
      const ChosenTraffic traffic = read_traffic(std::string(kind->name) + arguments);
      const Pairs pairs = pairs_of(*kind, traffic.numbers, n);
      for (const auto& [name, hops] : searches) {
        SCOPED_TRACE(fmt::format("{} over {} of {}", kind->name, name, n));
        const HopCount told = count_hops(read_shape(name, 1), traffic, n);
        EXPECT_FALSE(told.sampled());
        if (kind->flow_set == FlowSet::edges) {
          EXPECT_EQ(told.max, 1U);
          EXPECT_EQ(told.mean, 1);
          continue;
        }
        const Searched searched = search(hops, pairs);
        ASSERT_EQ(told.unreached.has_value(), searched.unreached);
        if (searched.unreached) continue;
        ++reached;
        EXPECT_EQ(told.max, searched.max);
        EXPECT_EQ(told.bound, searched.max);
        EXPECT_NEAR(told.mean, searched.sum / searched.flows, 1e-9);
      }
    }
  }
  EXPECT_GT(reached, 50 * kMostCounted);
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
