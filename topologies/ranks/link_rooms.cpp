// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/link_rooms.h"

#include <algorithm>

#include "topologies/ranks/rank_plan.h"

namespace rdmameter {
namespace {

class LinkCounter {
 public:
  LinkCounter(const TopologyPlan& plan, const CommonPlan& common, Rank rank, std::uint32_t classes)
      : plan_(plan), graph_(plan.graph), common_(common), rank_(rank), classes_(classes) {
    counts_.in.resize(graph_.degree(rank) * classes);
    counts_.out.resize(counts_.in.size());
  }

  /// A message goes on as each rank on its route has it, by the rank's own tree: towards one
  /// destination the routes from everywhere are a tree, too. Of it this rank's branch counts.
  LinkCounts of_flows() {
    for (Rank to = 0; to < graph_.ranks(); ++to) {
      if (to != rank_) climb(to, rank_, 0, counts_.out, next(rank_, to));
      for (const Rank behind : graph_.neighbours[rank_])
        if (behind != to && next(behind, to) == rank_) climb(to, behind, 0, counts_.in, behind);
    }
    return std::move(counts_);
  }

  /// Of TrafficMode::spread: a message goes over each edge of its source's tree once.
  LinkCounts of_spread() {
    for (Rank source = 0; source < graph_.ranks(); ++source) {
      const Tree& tree = common_.trees[source];
      if (source != rank_) count(counts_.in, tree.parent[rank_], tree.hops[rank_] - 1);
      for (const Rank ahead : graph_.neighbours[rank_])
        if (ahead != source && tree.parent[ahead] == rank_)
          count(counts_.out, ahead, tree.hops[rank_]);
    }
    return std::move(counts_);
  }

 private:
  Rank next(Rank rank, Rank to) const { return common_.next.empty() ? to : common_.next[rank][to]; }

  void count(std::vector<std::uint64_t>& counts, Rank neighbour, std::uint32_t hop_class) {
    ++counts[place_of(graph_.neighbours[rank_], neighbour) * classes_ + hop_class];
  }

  /// Counts the messages to `to` that come past `here`, which is `passed` hops before the link.
  void climb(Rank to, Rank here, std::uint32_t passed, std::vector<std::uint64_t>& counts,
             Rank neighbour) {
    if (plan_.sends(here, to)) count(counts, neighbour, passed);
    if (passed + 1 == classes_) return;  // no message has come farther
    for (const Rank behind : graph_.neighbours[here])
      if (behind != to && next(behind, to) == here)
        climb(to, behind, passed + 1, counts, neighbour);
  }

  const TopologyPlan& plan_;
  const Graph& graph_;
  const CommonPlan& common_;
  const Rank rank_;
  const std::uint32_t classes_;
  LinkCounts counts_;
};

/// How many of `messages` of an exchange, or of all round trips, are on a link at one time.
std::uint64_t at_once(const TopologyPlan& plan, const TestCase& test_case, std::uint64_t messages) {
  const std::uint64_t any_number = messages == 0 ? 0 : test_case.queues.depth;
  if (!test_case.reliable()) return any_number;  // late ones, too
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

}  // namespace

LinkCounts count_link_messages(const TopologyPlan& plan, const CommonPlan& common, Rank rank,
                               std::uint32_t classes) {
  LinkCounter counter(plan, common, rank, classes);
  return plan.traffic_mode() == TrafficMode::spread ? counter.of_spread() : counter.of_flows();
}

LinkCounts link_rooms(const TopologyPlan& plan, const CommonPlan& common, const TestCase& test_case,
                      Rank rank) {
  const std::uint64_t depth = test_case.queues.depth;
  const std::uint32_t classes = hop_classes(plan);
  if (classes == 1) {  // no rank relays, so there is nothing to count
    const std::vector<std::uint64_t> each(plan.graph.degree(rank), depth);
    return {.in = each, .out = each};
  }
  LinkCounts rooms = count_link_messages(plan, common, rank, classes);
  for (auto* counts : {&rooms.in, &rooms.out})
    for (std::size_t i = 0; i < counts->size(); ++i)
      (*counts)[i] =
          i % classes == 0 ? depth : std::min(depth, 2 * at_once(plan, test_case, (*counts)[i]));
  return rooms;
}

}  // namespace rdmameter
