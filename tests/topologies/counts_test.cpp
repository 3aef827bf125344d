// SPDX-License-Identifier: Apache-2.0
// What the program counts of a graph and of the messages over it, against closed forms and searches
// of this test's own, for every shape among 2 to 64 ranks.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "tests/topologies/searched.h"
#include "tests/topologies/topology_case.h"
#include "topologies/ranks/rank_queues.h"
#include "topologies/ranks/rank_result.h"
#include "topologies/schedule/barrier_meetings.h"
#include "topologies/simulator/simulator.h"

namespace rdmameter {
namespace {

using Hops = std::vector<std::vector<std::uint32_t>>;

std::uint64_t number_in(const std::string& shape) {
  return std::stoull(shape.substr(shape.find(':') + 1));
}

bool is_one_of(const std::string& shape, std::string_view name) {
  return shape.substr(0, shape.find(':')) == name;
}

/// Of "torus2d:3x4" 3 and 4.
std::pair<std::uint64_t, std::uint64_t> sides_of(const std::string& torus) {
  return {number_in(torus), std::stoull(torus.substr(torus.find('x') + 1))};
}

/// QPs of a rank where an edge has one, as docs/topologies-reference.md has them.
std::uint64_t neighbours_of(const std::string& shape, Rank rank, std::uint64_t n) {
  const auto on_ring = [](std::uint64_t length) {
    return length > 2 ? std::uint64_t{2} : length - 1;
  };
  if (is_one_of(shape, "ring")) return on_ring(n);
  if (is_one_of(shape, "star")) return rank == 0 ? n - 1 : 1;
  if (is_one_of(shape, "kring")) return 2 * number_in(shape) == n ? n - 1 : 2 * number_in(shape);
  if (is_one_of(shape, "hypercube")) return static_cast<std::uint64_t>(std::bit_width(n) - 1);
  if (is_one_of(shape, "random")) return number_in(shape);
  if (is_one_of(shape, "torus2d")) {
    const auto [rows, columns] = sides_of(shape);
    return on_ring(rows) + on_ring(columns);
  }
  return n - 1;
}

std::uint64_t edges_of(const std::string& shape, std::uint64_t n) {
  const auto on_ring = [](std::uint64_t length) { return length > 2 ? length : length - 1; };
  if (is_one_of(shape, "ring")) return on_ring(n);
  if (is_one_of(shape, "star")) return n - 1;
  if (is_one_of(shape, "kring"))
    return 2 * number_in(shape) == n ? n * (n - 1) / 2 : n * number_in(shape);
  if (is_one_of(shape, "hypercube")) {
    std::uint64_t edges = 0;  // twice that of half of it, and one from each rank to its other half
    for (std::uint64_t ranks = 2; ranks <= n; ranks *= 2) edges = 2 * edges + ranks / 2;
    return edges;
  }
  if (is_one_of(shape, "random")) return n * number_in(shape) / 2;
  if (is_one_of(shape, "torus2d")) {
    const auto [rows, columns] = sides_of(shape);
    return columns * on_ring(rows) + rows * on_ring(columns);
  }
  return n * (n - 1) / 2;
}

/// A QP each with the ranks 1, 2, 4... ahead of and behind a rank; of two of them that are the same
/// rank one. They are where the number of ranks is the sum of two powers of two.
std::uint64_t barrier_qps_of(std::uint64_t n) {
  const auto steps = static_cast<std::uint64_t>(std::bit_width(n - 1));
  const int bits = std::popcount(n);
  return 2 * steps - (bits == 1 ? 1 : bits == 2 ? 2 : 0);
}

TestCase case_over(const std::string& graph, const std::string& traffic, std::uint64_t ranks) {
  TestCase test_case = topology_case(graph, traffic, ranks);
  test_case.size_bytes = 24;
  return test_case;
}

/// Calls `visit` with the shapes that `among` lists for each number of ranks.
template <class Visit>
void visit_shapes(std::vector<std::string> (*among)(Rank), Visit visit) {
  for (Rank n = 2; n <= kMostCounted; ++n)
    for (const std::string& shape : among(n)) {
      SCOPED_TRACE(fmt::format("{} of {}", shape, n));
      ASSERT_EQ(read_shape(shape, 1).why_not(n), "");
      visit(shape, n);
    }
}

TEST(Counts, OfQPsAndEdgesAreThoseOfTheClosedForms) {
  std::set<const Shape*> visited;
  visit_shapes(shapes_among, [&visited](const std::string& shape, Rank n) {
    visited.insert(read_shape(shape, 1).shape);
    const TestCase test_case = case_over(shape, "neighbours", n);
    TopologyPlan plan = plan_topology(test_case);
    EXPECT_EQ(plan.graph.edges().size(), edges_of(shape, n));
    for (const std::uint64_t per_edge : {1U, 3U}) {
      if (plan.datagram() && per_edge > 1) continue;
      plan.test_case.qps_per_edge = per_edge;
      std::uint64_t total = 0;
      for (Rank rank = 0; rank < n; ++rank) {
        const RankPlan mine = plan_rank(plan, rank);
        const RankQueues layout(mine, 1, 1024);
        const std::uint64_t qps = plan.datagram() ? 1 : per_edge * neighbours_of(shape, rank, n);
        ASSERT_EQ(layout.qp_count(), qps) << rank;
        total += layout.qp_count();
      }
      EXPECT_EQ(total, plan.datagram() ? n : 2 * per_edge * edges_of(shape, n));
    }
  });
  for (const Shape* shape : shapes())
    EXPECT_TRUE(visited.contains(shape)) << shape->name << " is not among those of searched.h";
}

TEST(Counts, OfTheBarriersQPsAreThoseOfTheClosedForm) {
  for (Rank n = 2; n <= kMostCounted; ++n)
    for (Rank rank = 0; rank < n; ++rank)
      ASSERT_EQ(barrier_partners(barrier_meetings(rank, n, {})).size(), barrier_qps_of(n))
          << rank << " of " << n;
}

/// Of an exchange of `traffic`, between two ranks.
bool goes_between(const std::string& traffic, Rank from, Rank to, Rank n, const Hops& hops) {
  if (from == to) return false;
  if (traffic == "neighbours") return hops[from][to] == 1;
  if (traffic == "bisection")
    return (from < n / 2 && to == from + n / 2) || (to < n / 2 && from == to + n / 2);
  if (traffic == "incast:1") return from == 1 && to == 0;
  if (traffic == "token") return to == (from + 1) % n;
  return true;  // alltoall, pairs, allgather
}

struct Counted {
  std::uint64_t messages = 0, hops = 0, most_hops = 0;
  std::vector<std::uint64_t> by_class;  ///< hops that come after so many others
};

Counted count(const std::string& traffic, Rank n, const Hops& hops) {
  Counted counted;
  for (Rank from = 0; from < n; ++from)
    for (Rank to = 0; to < n; ++to) {
      if (!goes_between(traffic, from, to, n, hops)) continue;
      ++counted.messages;
      counted.hops += hops[from][to];
      counted.most_hops = std::max<std::uint64_t>(counted.most_hops, hops[from][to]);
      counted.by_class.resize(counted.most_hops);
      // A copy for each rank goes over the last of its hops; the others it has in common.
      if (traffic == "allgather")
        ++counted.by_class[hops[from][to] - 1];
      else
        for (std::uint32_t hop = 0; hop < hops[from][to]; ++hop) ++counted.by_class[hop];
    }
  return counted;
}

TEST(Counts, OfMessagesAndTheirHopsAreThoseOfASearch) {
  visit_shapes(graphs_among, [](const std::string& shape, Rank n) {
    const Graph graph = read_shape(shape, 1).make(n);
    const Hops hops = all_hops(graph);
    for (const char* traffic :
         {"alltoall", "allgather", "neighbours", "bisection", "incast:1", "token"}) {
      SCOPED_TRACE(traffic);
      const TestCase test_case = case_over(shape, traffic, n);
      const Counted counted = count(traffic, n, hops);
      const TopologyPlan plan = plan_topology(test_case);
      ASSERT_EQ(plan.graph.neighbours, graph.neighbours);
      EXPECT_EQ(plan.hops.max, counted.most_hops);
      EXPECT_NEAR(plan.hops.mean, real(counted.hops) / real(counted.messages), 1e-9);
      const std::vector<LinkCounts> counted_of = count_link_messages(plan);
      const std::uint32_t classes = hop_classes(plan);
      std::vector<std::uint64_t> in(classes), out(classes);
      std::uint64_t messages = 0;
      for (Rank rank = 0; rank < n; ++rank) {
        messages += plan.receivers(rank).size();
        const LinkCounts& counts = counted_of[rank];
        for (std::size_t i = 0; i < counts.in.size(); ++i) {
          in[i % classes] += counts.in[i];
          out[i % classes] += counts.out[i];
        }
      }
      EXPECT_EQ(messages, counted.messages);
      EXPECT_EQ(out, counted.by_class);
      EXPECT_EQ(in, counted.by_class);
    }
  });
}

/// Messages of ranks that are all in this thread, in virtual time.
TEST(Counts, OfWhatArrivesAndIsPassedOnAreThoseOfASearch) {
  for (Rank n = 2; n <= kMostCounted; n += n < 8 ? 1 : 28)
    for (const std::string& shape : graphs_among(n))
      for (const char* traffic : {"alltoall", "allgather"}) {
        TestCase test_case = case_over(shape, traffic, n);
        test_case.iterations = 1;
        test_case.warmup = 0;
        if (read_shape(shape, 1).shape->datagrams) continue;  // none are simulated
        SCOPED_TRACE(fmt::format("{} over {} of {}", traffic, shape, n));
        const Outcome outcome = simulate(test_case, read_network("delay:1us"), StopFlag());
        EXPECT_EQ(outcome.bandwidth->messages, n * (n - 1));
        const TopologyPlan plan = plan_topology(test_case);
        const bool spread = plan.traffic_mode() == TrafficMode::spread;
        const Counted counted = count(traffic, n, all_hops(plan.graph));
        EXPECT_EQ(outcome.extra.at("passed_on"),
                  (spread ? n * (n - 1) : counted.hops) - counted.by_class[0]);
      }
}

/// As ranks tell them; `times` exchanges of an alltoall.
std::vector<RankResult> results_of(const TopologyPlan& plan, std::uint64_t times) {
  std::vector<RankResult> results(plan.graph.ranks());
  plan_ranks(plan, [&](const RankPlan& mine) {
    const Rank rank = mine.rank;
    RankResult& result = results[rank];
    result.qps = RankQueues(mine, 1, 1024).qp_count();
    result.barrier_qps = barrier_partners(barrier_meetings(rank, plan.graph.ranks(), {})).size();
    result.sent = times * plan.receivers(rank).size();
    result.arrived = times * plan.senders(rank).size();
    result.elapsed_ns = result.sending_ns = 1000;
  });
  return results;
}

TEST(Counts, OfARowAreThoseOfAllRanksTogether) {
  constexpr std::uint64_t kTimes = 5;
  visit_shapes(graphs_among, [](const std::string& shape, Rank n) {
    const TestCase test_case = case_over(shape, "alltoall", n);
    const TopologyPlan plan = plan_topology(test_case);
    const Outcome outcome = merge_results(plan, results_of(plan, kTimes));
    const TopologyData& topology = *outcome.topology;
    const Counted counted = count("alltoall", n, all_hops(plan.graph));
    const std::uint64_t messages = kTimes * n * (n - 1);
    EXPECT_EQ(topology.edges.size(), edges_of(shape, n));
    EXPECT_EQ(topology.qps_per_rank.size(), n);
    EXPECT_EQ(topology.qps_total, plan.datagram() ? n : 2 * edges_of(shape, n));
    EXPECT_EQ(topology.barrier_qps, n * barrier_qps_of(n));
    EXPECT_EQ(topology.hops->max, counted.most_hops);
    EXPECT_NEAR(topology.hops->mean, real(counted.hops) / real(n * (n - 1)), 1e-9);
    EXPECT_EQ(outcome.bandwidth->messages, messages);
    EXPECT_EQ(outcome.bandwidth->bytes, messages * test_case.size_bytes);
  });
}

}  // namespace
}  // namespace rdmameter
