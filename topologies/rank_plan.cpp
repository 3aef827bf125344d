// SPDX-License-Identifier: Apache-2.0
#include "topologies/rank_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "topologies/parcel.h"

namespace rdmameter {
namespace {

/// Most and mean hops over the legs; a rank's tree is made once, for all of its legs.
struct HopCount {
  std::uint32_t most = 0;
  double mean = 0;
  bool all_reached = true;
  Flow unreached{};
};

HopCount count_hops(const Graph& graph, std::vector<Flow> legs) {
  HopCount count;
  std::ranges::sort(legs, {}, [](const Flow& leg) { return std::pair(leg.from, leg.to); });
  legs.erase(std::unique(legs.begin(), legs.end()), legs.end());
  double sum = 0;
  Tree tree;
  for (std::size_t i = 0; i < legs.size(); ++i) {
    if (i == 0 || legs[i].from != legs[i - 1].from) tree = tree_from(graph, legs[i].from);
    const std::uint32_t hops = tree.hops[legs[i].to];
    if (hops == kUnreachable) {
      count.all_reached = false;
      count.unreached = legs[i];
      return count;
    }
    count.most = std::max(count.most, hops);
    sum += hops;
  }
  count.mean = legs.empty() ? 0 : sum / static_cast<double>(legs.size());
  return count;
}

/// By destination: over the first neighbour on a shortest way.
void plan_unicast(RankPlan& made, const Graph& graph, Rank rank, const Tree& tree) {
  for (Rank to = 0; to < graph.ranks(); ++to) {
    PlannedWay& way = made.ways[to];
    way.here = to == rank;
    if (!way.here && tree.hops[to] != kUnreachable)
      way.neighbours = {place_of(graph.neighbours[rank], tree.first[to])};
  }
}

/// By source: to the ranks for which this one comes just before on the source's tree.
void plan_spread(RankPlan& made, const Graph& graph, Rank rank) {
  for (Rank source = 0; source < graph.ranks(); ++source) {
    const Tree tree = tree_from(graph, source);
    PlannedWay& way = made.ways[source];
    way.here = source != rank;
    for (Rank to = 0; to < graph.ranks(); ++to)
      if (to != source && tree.parent[to] == rank)
        way.neighbours.push_back(place_of(graph.neighbours[rank], to));
    made.most_ways = std::max(made.most_ways, static_cast<std::uint32_t>(way.neighbours.size()));
  }
}

std::vector<std::uint32_t> stops_after(const TopologyPlan& plan, Rank rank) {
  std::vector<std::uint32_t> next(plan.graph.ranks(), rank);
  for (const auto& walk : plan.flows.walks)
    for (std::size_t i = 1; i + 1 < walk.size(); ++i)
      if (walk[i] == rank) next[walk[i - 1]] = walk[i + 1];
  return next;
}

}  // namespace

std::string why_no_topology(const Case& one_case) {
  const ChosenShape shape = read_shape(one_case.graph, one_case.seed);
  const ChosenTraffic traffic = read_traffic(one_case.traffic);
  find_schedule(one_case.schedule);
  const auto ranks = static_cast<Rank>(one_case.ranks);
  if (std::string why = shape.why_not(ranks); !why.empty()) return why;
  if (std::string why = traffic.kind->why_not(traffic.arguments, ranks); !why.empty()) return why;
  if (one_case.payload.starts_with(kFileMemory))
    return "a payload file is of two ends: among ranks use --payload random or zero";
  if (one_case.inflate != 0 && one_case.inflate < one_case.ranks)
    return fmt::format("--inflate {}: there are {} ranks already", one_case.inflate,
                       one_case.ranks);
  if (one_case.inflate != 0 && one_case.active != kMax && one_case.active > one_case.inflate - 1)
    return fmt::format("--active {}: a rank of a mesh of {} has {} QPs", one_case.active,
                       one_case.inflate, one_case.inflate - 1);
  const Graph graph = shape.make(ranks);
  const HopCount hops = count_hops(graph, legs_of(traffic.kind->make(graph, traffic.arguments)));
  if (!hops.all_reached)
    return fmt::format(
        "rank {} cannot reach rank {} over {}, whose parts are not connected: another --seed or "
        "more edges, or --traffic neighbours",
        hops.unreached.from, hops.unreached.to, one_case.graph);
  if (one_case.between_ranks() != RankOpcode::send) {
    if (one_case.service() != Transport::rc)
      return "--opcode write and read: among ranks over RC alone";
    if (hops.most > 1)
      return fmt::format(
          "--opcode write and read: no rank passes them on, and a way over {} has {} hops; use "
          "mesh, or --opcode send",
          one_case.graph, hops.most);
  }
  if (hops.most > kMostHops)
    return fmt::format("a message's way has {} hops, and its label has room for {}", hops.most,
                       kMostHops);
  return {};
}

EdgeQps edge_qps(const Case& one_case) {
  if (one_case.graph == kDatagramGraph) return {1, 1};
  if (one_case.inflate == 0) return {one_case.qps_per_edge, one_case.qps_per_edge};
  // An edge to each other rank, and the QPs shared out over them; of a rest each has its part.
  const std::uint64_t others = one_case.ranks - 1;
  const auto share = [others](std::uint64_t qps) { return (qps + others - 1) / others; };
  const std::uint64_t all = share(one_case.inflate - 1);
  return {all, one_case.active == kMax ? all : std::min(all, share(one_case.active))};
}

TopologyPlan plan_topology(const Case& one_case) {
  TopologyPlan plan{.shape = read_shape(one_case.graph, one_case.seed),
                    .traffic = read_traffic(one_case.traffic),
                    .graph = {},
                    .flows = {}};
  plan.graph = plan.shape.make(static_cast<Rank>(one_case.ranks));
  plan.flows = plan.traffic.kind->make(plan.graph, plan.traffic.arguments);
  const HopCount hops = count_hops(plan.graph, legs_of(plan.flows));
  plan.most_hops = hops.most;
  plan.mean_hops = hops.mean;
  plan.datagram = one_case.graph == kDatagramGraph;
  return plan;
}

RankPlan plan_rank(const TopologyPlan& plan, const Case& one_case, Rank rank) {
  const Graph& graph = plan.graph;
  RankPlan made;
  const Tree tree = tree_from(graph, rank);
  made.hops = tree.hops;
  made.ways.resize(graph.ranks());
  if (plan.drive() == Drive::spread)
    plan_spread(made, graph, rank);
  else
    plan_unicast(made, graph, rank, tree);
  switch (plan.drive()) {
    case Drive::walk:
      made.reply_to = stops_after(plan, rank);
      break;
    case Drive::exchange:
    case Drive::spread:
      made.rounds =
          rounds_of(rank, plan.flows.flows, graph.ranks(), find_schedule(one_case.schedule));
      break;
    case Drive::stream:
      for (const Flow& flow : plan.flows.flows)
        if (flow.from == rank) made.partners.push_back(flow.to);
      break;
    case Drive::drawn:
      for (std::uint32_t n = 0; n < kPartnerDraws; ++n)
        made.partners.push_back(drawn_partner(one_case.seed, rank, n, graph.ranks()));
      break;
  }
  return made;
}

std::vector<Rank> senders_of(const TopologyPlan& plan, const Case& one_case, Rank rank) {
  std::vector<Rank> senders;
  for (Rank from = 0; from < plan.graph.ranks(); ++from) {
    if (from == rank) continue;
    const bool sends = plan.drive() == Drive::drawn
                           ? drawn_partner(one_case.seed, from, 0, plan.graph.ranks()) == rank
                           : std::ranges::any_of(plan.flows.flows, [&](const Flow& flow) {
                               return flow.from == from && flow.to == rank;
                             });
    if (sends) senders.push_back(from);
  }
  return senders;
}

std::uint64_t expected_messages(const TopologyPlan& plan, const Case& one_case, Rank rank,
                                std::uint64_t messages) {
  const Rank ranks = plan.graph.ranks();
  std::uint64_t expected = 0;
  if (plan.drive() == Drive::stream)
    return messages *
           static_cast<std::uint64_t>(std::ranges::count(plan.flows.flows, rank, &Flow::to));
  if (plan.drive() != Drive::drawn) return 0;
  for (Rank from = 0; from < ranks; ++from) {
    if (from == rank) continue;
    for (std::uint32_t n = 0; n < kPartnerDraws; ++n)
      if (drawn_partner(one_case.seed, from, n, ranks) == rank)
        expected += messages / kPartnerDraws + (n < messages % kPartnerDraws ? 1 : 0);
  }
  return expected;
}

}  // namespace rdmameter
