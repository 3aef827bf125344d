// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/rank_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "topologies/axes/rank_axes.h"
#include "topologies/ranks/loop/message_buffer.h"
#include "topologies/traffic/hop_count.h"

namespace rdmameter {
namespace {

/// How many of `messages` of an exchange, or of all round trips, are on a link at one time.
std::uint64_t at_once(const TopologyPlan& plan, std::uint64_t messages) {
  const std::uint64_t any_number = messages == 0 ? 0 : plan.test_case.queues.depth;
  if (!plan.test_case.reliable()) return any_number;  // late ones, too
  switch (plan.traffic_mode()) {
    case TrafficMode::round_trip:
      return std::min<std::uint64_t>(messages, 1);
    case TrafficMode::exchange:
    case TrafficMode::spread:
    case TrafficMode::collective:  // the next one of a flow mostly waits for other ranks
      return messages;
    case TrafficMode::stream:
    case TrafficMode::drawn:
      break;
  }
  return any_number;
}

static_assert(kMaxTopologyRanks - 1 <= kRankMask);

/// Of pairs a message goes back at once.
std::vector<std::uint32_t> stops_after(const TopologyPlan& plan, Rank rank) {
  std::vector<std::uint32_t> next(plan.graph.ranks(), rank);
  if (plan.in_rounds()) std::iota(next.begin(), next.end(), 0U);
  for (const auto& round_trip : plan.round_trips)
    for (std::size_t i = 1; i + 1 < round_trip.size(); ++i)
      if (round_trip[i] == rank) next[round_trip[i - 1]] = round_trip[i + 1];
  return next;
}

std::vector<Rank> drawn_partners(const TestCase& test_case, Rank rank) {
  std::vector<Rank> partners(kPartnerDraws);
  for (std::uint32_t n = 0; n < kPartnerDraws; ++n)
    partners[n] = drawn_partner(test_case.seed, rank, n, static_cast<Rank>(test_case.ranks));
  return partners;
}

/// The receivers of a rank's messages in a stream, the next higher rank first, so that not all
/// ranks begin with the same receiver.
std::vector<Rank> stream_partners(const TopologyPlan& plan, Rank from) {
  const Rank ranks = plan.graph.ranks();
  std::vector<Rank> partners = plan.receivers(from);
  std::ranges::sort(partners, {}, [&](Rank to) { return ranks_ahead({from, to}, ranks); });
  return partners;
}

/// Calls `visit` with every other rank that may send to this one, and its receivers in the order
/// of its messages.
template <class Visit>
void visit_senders(const TopologyPlan& plan, Rank rank, Visit visit) {
  const bool drawn = plan.traffic_mode() == TrafficMode::drawn;
  for (const Rank from : plan.senders(rank))
    visit(from, drawn ? drawn_partners(plan.test_case, from) : stream_partners(plan, from));
}

/// That begin or end at a rank.
std::vector<Flow> flows_at(const TopologyPlan& plan, Rank rank) {
  std::vector<Flow> flows;
  for (const Rank to : plan.receivers(rank)) flows.push_back({rank, to});
  for (const Rank from : plan.senders(rank)) flows.push_back({from, rank});
  return flows;
}

/// A collective's flows are those of its schedule.
void plan_flows(TopologyPlan& plan) {
  const TrafficKind& kind = *plan.traffic.entry;
  TrafficPlan made;
  if (kind.make != nullptr) made = kind.make(plan.graph.ranks(), plan.traffic.numbers);
  for (const auto& flow : plan.collective.flows) made.flows.push_back({flow.from, flow.to});
  if (kind.flow_set == FlowSet::made) {
    const std::vector<Flow> flows = flows_of(made);
    plan.flows_to = list_flows(plan.graph.ranks(), flows, &Flow::from, &Flow::to);
    plan.flows_from = list_flows(plan.graph.ranks(), flows, &Flow::to, &Flow::from);
  }
  plan.round_trips = std::move(made.round_trips);
}

/// Messages that a rank passes on, once for each time.
std::uint64_t count_relayed_hops(const Graph& graph, const CollectiveTotals& totals) {
  std::uint64_t relayed = 0;
  Tree tree;
  for (std::size_t i = 0; i < totals.flows.size(); ++i) {
    const auto& [from, to, messages] = totals.flows[i];
    if (i == 0 || totals.flows[i - 1].from != from) tree = tree_from(graph, from);
    relayed += messages * (tree.hops[to] - 1);
  }
  return relayed;
}

/// What a collective needs beyond what any traffic does.
std::string why_no_collective(const TestCase& test_case, const Collective& collective) {
  const auto ranks = static_cast<Rank>(test_case.ranks);
  if (test_case.transport != Transport::rc)
    return "a collective's messages come in order, and none is lost: use --transport rc, and a "
           "graph that has it";
  if (test_case.shared_receives())
    return "the receives of a collective are each QP's own: use --recv rq";
  if (edge_qps(test_case).active > 1)
    return fmt::format(
        "the messages of a collective from one rank to another come in order, over one QP: use {}",
        test_case.inflate != 0 ? fmt::format("--active {}", ranks - 1) : "--qps-per-edge 1");
  if (words_of_size(collective.kind, ranks, test_case.size_bytes) == 0)
    return fmt::format(
        "--size {}: {} among {} ranks moves whole words of {} bytes; use at least --size {}",
        test_case.size_bytes, collective.name, ranks, kWordBytes,
        least_size(collective.kind, ranks));
  if (test_case.iterations > kMaxCollectives)
    return fmt::format("--iterations {}: at most {} collectives are timed one by one",
                       test_case.iterations, kMaxCollectives);
  return {};
}

/// Of memory that the CPU does not reach.
std::string why_not_apart(const TestCase& test_case, const TrafficKind& traffic) {
  if (traffic.collective != nullptr)
    return "ranks copy and add a collective's words with the CPU: use --memory host or huge";
  if (traffic.traffic_mode == TrafficMode::round_trip && !test_case.reliable())
    return "the CPU writes a number into each message that may be lost: use --transport rc, or "
           "--memory host";
  return {};
}

}  // namespace

bool TopologyPlan::sends(Rank from, Rank to) const {
  const RankLists& lists = among(flows_to);
  return lists.empty() ? from != to : std::ranges::binary_search(lists[from], to);
}

std::string why_no_topology(const TestCase& test_case) {
  const ChosenShape shape = read_shape(test_case.graph, test_case.seed);
  const ChosenTraffic traffic = read_traffic(test_case.traffic);
  find_schedule(test_case.schedule);
  const auto ranks = static_cast<Rank>(test_case.ranks);
  if (in_rounds(traffic.entry->reach)) partners_of_pairs(test_case.pairs, ranks);
  if (std::string why = shape.why_not(ranks); !why.empty()) return why;
  if (std::string why = traffic.entry->why_not(traffic.numbers, ranks); !why.empty()) return why;
  if (test_case.transport == Transport::ud && !shape.shape->datagrams)
    return fmt::format(
        "graph {} needs connected QPs, and UD is connectionless: use --transport rc or "
        "uc, or udmesh",
        test_case.graph);
  if (!cpu_reaches(test_case.initiator.memory))
    if (std::string why = why_not_apart(test_case, *traffic.entry); !why.empty()) return why;
  if (test_case.payload.starts_with(kFileMemory))
    return "ranks do not send a payload file: use --payload random or zero";
  if (test_case.inflate != 0 && test_case.inflate < test_case.ranks)
    return fmt::format("--inflate {}: there are {} ranks already", test_case.inflate,
                       test_case.ranks);
  if (test_case.inflate != 0 && test_case.active != kDeviceMax &&
      test_case.active > test_case.inflate - 1)
    return fmt::format("--active {}: a rank of a mesh of {} has {} QPs", test_case.active,
                       test_case.inflate, test_case.inflate - 1);
  if (const Collective* const collective = traffic.entry->collective)
    if (std::string why = why_no_collective(test_case, *collective); !why.empty()) return why;
  HopCount hops = count_hops(shape, traffic, ranks);
  if (hops.bound > kMaxHops && hops.sampled()) hops = count_hops(shape, traffic, ranks, ranks);
  if (hops.unreached)
    return fmt::format(
        "rank {} cannot reach rank {} over {}, whose parts are not connected: another --seed or "
        "more edges, or --traffic neighbours",
        hops.unreached->from, hops.unreached->to, test_case.graph);
  if (test_case.rank_opcode != RankOpcode::send) {
    if (test_case.transport != Transport::rc)
      return "--opcode write and read work over RC alone: use --transport rc";
    if (hops.max > 1)
      return fmt::format(
          "--opcode write and read: no rank relays them, and a route over {} has {} hops; use "
          "mesh, or --opcode send",
          test_case.graph, hops.max);
  }
  if (hops.max > kMaxHops)
    return fmt::format("a route has {} hops, and a message's label has room for {}", hops.max,
                       kMaxHops);
  return {};
}

EdgeQps edge_qps(const TestCase& test_case) {
  if (!test_case.connects_ranks()) return {1, 1};
  if (test_case.inflate == 0) return {test_case.qps_per_edge, test_case.qps_per_edge};
  // An edge to each other rank, and the QPs shared out over them; of a rest each has its part.
  const std::uint64_t others = test_case.ranks - 1;
  const auto share = [others](std::uint64_t qps) { return (qps + others - 1) / others; };
  const std::uint64_t all = share(test_case.inflate - 1);
  return {all, test_case.active == kDeviceMax ? all : std::min(all, share(test_case.active))};
}

TopologyPlan plan_topology(const TestCase& test_case) {
  TopologyPlan plan{.test_case = test_case,
                    .shape = read_shape(test_case.graph, test_case.seed),
                    .traffic = read_traffic(test_case.traffic)};
  plan.graph = plan.shape.make(static_cast<Rank>(test_case.ranks));
  plan.message_bytes = test_case.size_bytes;
  if (const Collective* const collective = plan.traffic.entry->collective) {
    plan.words = words_of_size(collective->kind, plan.graph.ranks(), test_case.size_bytes);
    plan.collective = collective_totals(*collective, plan.graph.ranks(), plan.words);
    plan.message_bytes = plan.collective.largest_words * kWordBytes;
    plan.relayed_hops = count_relayed_hops(plan.graph, plan.collective);
  }
  plan_flows(plan);
  plan.hops = count_hops(plan.shape, plan.traffic, plan.graph.ranks(), plan.graph.ranks());
  return plan;
}

std::vector<PairRound> rounds_of_pairs(const TopologyPlan& plan) {
  if (!plan.in_rounds()) return {};
  return pair_rounds(plan.graph, plan.test_case.seed,
                     partners_of_pairs(plan.test_case.pairs, plan.graph.ranks()));
}

namespace {

/// Plans ranks. Holds what their plans have in common.
class Planner {
 public:
  explicit Planner(const TopologyPlan& plan) : plan_(plan) {
    for (Rank root = 0; (spread_ || classes_ > 1) && root < graph_.ranks(); ++root) {
      Tree tree = tree_from(graph_, root);
      if (spread_)
        trees_.push_back(std::move(tree));
      else
        next_.emplace_back(tree.first.begin(), tree.first.end());
    }
  }

  RankPlan plan(Rank rank) const {
    const TestCase& test_case = plan_.test_case;
    RankPlan rank_plan{.all = plan_, .rank = rank};
    const Tree tree = tree_from(graph_, rank);
    rank_plan.hops = tree.hops;
    rank_plan.rooms = rooms(rank);
    rank_plan.routes.resize(graph_.ranks());
    if (spread_)
      plan_spread(rank_plan);
    else
      plan_unicast(rank_plan, tree);
    rank_plan.pair_turns = pair_turns(rounds_, rank);
    switch (plan_.traffic_mode()) {
      case TrafficMode::round_trip:
        rank_plan.reply_to = stops_after(plan_, rank);
        break;
      case TrafficMode::exchange:
      case TrafficMode::spread:
        rank_plan.rounds = rounds_of(rank, flows_at(plan_, rank), graph_.ranks(),
                                     find_schedule(test_case.schedule));
        break;
      case TrafficMode::stream:
        if (!plan_.in_rounds()) rank_plan.partners = stream_partners(plan_, rank);
        rank_plan.window =
            test_case.queues.depth * std::max<std::size_t>(rank_plan.partners.size(), 1);
        break;
      case TrafficMode::drawn:
        rank_plan.partners = drawn_partners(test_case, rank);
        rank_plan.window = test_case.queues.depth;
        break;
      case TrafficMode::collective:
        rank_plan.schedule =
            plan_.traffic.entry->collective->make(rank, graph_.ranks(), plan_.words);
        break;
    }
    return rank_plan;
  }

  LinkCounts count_messages(Rank rank) const {
    const std::vector<std::uint64_t> none(graph_.degree(rank) * classes_);
    LinkCounts counts{.in = none, .out = none};
    if (spread_)
      count_spread(counts, rank);
    else
      count_flows(counts, rank);
    return counts;
  }

 private:
  /// By destination: over the first neighbour on a shortest route.
  void plan_unicast(RankPlan& rank_plan, const Tree& tree) const {
    for (Rank to = 0; to < graph_.ranks(); ++to) {
      PlannedRoute& route = rank_plan.routes[to];
      route.here = to == rank_plan.rank;
      if (!route.here && tree.hops[to] != kUnreachable)
        route.neighbours = {place_of(graph_.neighbours[rank_plan.rank], tree.first[to])};
    }
  }

  /// By source: to the ranks for which this one comes just before on the source's tree.
  void plan_spread(RankPlan& rank_plan) const {
    const std::vector<Rank>& neighbours = graph_.neighbours[rank_plan.rank];
    for (Rank source = 0; source < graph_.ranks(); ++source) {
      const Tree& tree = trees_[source];
      PlannedRoute& route = rank_plan.routes[source];
      route.here = source != rank_plan.rank;
      for (std::uint32_t place = 0; place < neighbours.size(); ++place)
        if (neighbours[place] != source && tree.parent[neighbours[place]] == rank_plan.rank)
          route.neighbours.push_back(place);
      rank_plan.max_copies =
          std::max(rank_plan.max_copies, static_cast<std::uint32_t>(route.neighbours.size()));
    }
  }

  /// A message goes on as each rank on its route has it, by the rank's own tree: towards one
  /// destination the routes from everywhere are a tree, too. Of it this rank's branch counts.
  void count_flows(LinkCounts& counts, Rank rank) const {
    for (Rank to = 0; to < graph_.ranks(); ++to) {
      const Rank first = next(rank, to);
      if (to != rank && graph_.has_edge(rank, first))
        climb(to, rank, 0, &counts.out[first_class(rank, first)]);
      for (const Rank behind : graph_.neighbours[rank])
        if (behind != to && next(behind, to) == rank)
          climb(to, behind, 0, &counts.in[first_class(rank, behind)]);
    }
  }

  /// Counts the messages to `to` that come past `here`, which is `passed` hops before the link.
  void climb(Rank to, Rank here, std::uint32_t passed, std::uint64_t* by_class) const {
    if (plan_.sends(here, to)) ++by_class[passed];
    if (passed + 1 == classes_) return;  // no message has come farther
    for (const Rank behind : graph_.neighbours[here])
      if (behind != to && next(behind, to) == here) climb(to, behind, passed + 1, by_class);
  }

  /// A message goes over each edge of its source's tree once.
  void count_spread(LinkCounts& counts, Rank rank) const {
    for (Rank source = 0; source < graph_.ranks(); ++source) {
      const Tree& tree = trees_[source];
      if (source != rank) ++counts.in[first_class(rank, tree.parent[rank]) + tree.hops[rank] - 1];
      for (const Rank ahead : graph_.neighbours[rank])
        if (ahead != source && tree.parent[ahead] == rank)
          ++counts.out[first_class(rank, ahead) + tree.hops[rank]];
    }
  }

  LinkCounts rooms(Rank rank) const {
    const std::uint64_t depth = plan_.test_case.queues.depth;
    if (classes_ == 1) {  // no rank relays, so there is nothing to count
      const std::vector<std::uint64_t> each(graph_.degree(rank), depth);
      return {.in = each, .out = each};
    }
    LinkCounts rooms = count_messages(rank);
    for (auto* counts : {&rooms.in, &rooms.out})
      for (std::size_t i = 0; i < counts->size(); ++i)
        (*counts)[i] =
            i % classes_ == 0 ? depth : std::min(depth, 2 * at_once(plan_, (*counts)[i]));
    return rooms;
  }

  Rank next(Rank rank, Rank to) const { return next_.empty() ? to : next_[rank][to]; }
  std::size_t first_class(Rank rank, Rank neighbour) const {
    return std::size_t{place_of(graph_.neighbours[rank], neighbour)} * classes_;
  }

  const TopologyPlan& plan_;
  const Graph& graph_ = plan_.graph;
  const bool spread_ = plan_.traffic_mode() == TrafficMode::spread;
  const std::uint32_t classes_ = hop_classes(plan_);
  const std::vector<PairRound> rounds_ = rounds_of_pairs(plan_);
  std::vector<Tree> trees_;  ///< of TrafficMode::spread, by root
  /// Other traffics, if messages are relayed: by rank and destination, the neighbour that comes
  /// next.
  std::vector<std::vector<std::uint16_t>> next_;
};
static_assert(kMaxTopologyRanks - 1 <= std::numeric_limits<std::uint16_t>::max());

}  // namespace

std::vector<LinkCounts> count_link_messages(const TopologyPlan& plan) {
  const Planner planner(plan);
  std::vector<LinkCounts> counts;
  for (Rank rank = 0; rank < plan.graph.ranks(); ++rank)
    counts.push_back(planner.count_messages(rank));
  return counts;
}

RankPlan plan_rank(const TopologyPlan& plan, Rank rank) {
  return Planner(plan).plan(rank);
}

void plan_ranks(const TopologyPlan& plan, const std::function<void(RankPlan)>& visit) {
  const Planner planner(plan);
  for (Rank rank = 0; rank < plan.graph.ranks(); ++rank) visit(planner.plan(rank));
}

std::vector<Rank> senders_of(const TopologyPlan& plan, Rank rank) {
  std::vector<Rank> senders;
  visit_senders(plan, rank, [&](Rank from, const std::vector<Rank>& partners) {
    if (partners.front() == rank) senders.push_back(from);
  });
  return senders;
}

std::uint64_t expected_messages(const TopologyPlan& plan, Rank rank, std::uint64_t messages) {
  std::uint64_t expected = 0;
  visit_senders(plan, rank, [&](Rank, const std::vector<Rank>& partners) {
    for (std::size_t n = 0; n < partners.size(); ++n)
      if (partners[n] == rank)
        expected += messages / partners.size() + (n < messages % partners.size() ? 1 : 0);
  });
  return expected;
}

}  // namespace rdmameter
