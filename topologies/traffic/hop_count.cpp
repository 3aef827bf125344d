// SPDX-License-Identifier: Apache-2.0
#include "topologies/traffic/hop_count.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "topologies/graphs/routes.h"

namespace rdmameter {

RankLists list_flows(Rank ranks, std::span<const Flow> flows, Rank Flow::*of, Rank Flow::*other) {
  RankLists lists(ranks);
  for (const Flow& flow : flows) lists[flow.*of].push_back(flow.*other);
  for (std::vector<Rank>& list : lists) {
    std::ranges::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return lists;
}

std::vector<Rank> listed(const RankLists& lists, Rank rank, Rank ranks) {
  if (!lists.empty()) return lists[rank];
  std::vector<Rank> others;
  for (Rank other = 0; other < ranks; ++other)
    if (other != rank) others.push_back(other);
  return others;
}

namespace {

/// The receivers of a rank's messages.
using Receivers = std::function<std::vector<Rank>(Rank)>;

/// @pre FlowSet is not `edges`
Receivers receivers_of(const ChosenTraffic& traffic, Rank ranks) {
  const TrafficKind& kind = *traffic.entry;
  if (kind.flow_set == FlowSet::made && kind.collective != nullptr)
    return
        [&kind, ranks](Rank rank) { return collective_receivers(*kind.collective, rank, ranks); };
  RankLists lists;
  if (kind.flow_set == FlowSet::made)
    lists = list_flows(ranks, flows_of(kind.make(ranks, traffic.numbers)), &Flow::from, &Flow::to);
  return [lists = std::move(lists), ranks](Rank rank) { return listed(lists, rank, ranks); };
}

/// Most and mean of what is added.
struct Distances {
  std::uint32_t max = 0;
  std::uint64_t sum = 0, count = 0;

  void add(std::uint32_t hops) {
    max = std::max(max, hops);
    sum += hops;
    ++count;
  }
  double mean() const { return count == 0 ? 0 : real(sum) / real(count); }
};

HopCount count_closed(const ChosenShape& shape, const ChosenTraffic& traffic, Rank ranks) {
  HopCount count{.senders = ranks, .looked_at = ranks};
  if (traffic.entry->flow_set == FlowSet::others) {
    const ShapeFigures figures = *shape.figures(ranks);
    count.max = static_cast<std::uint32_t>(figures.hops_max);
    count.mean = figures.hops_mean;
  } else {
    const Receivers receivers = receivers_of(traffic, ranks);
    Distances distances;
    for (Rank from = 0; from < ranks; ++from)
      for (const Rank to : receivers(from))
        distances.add(shape.shape->hops(shape.arguments, from, to, ranks));
    count.max = distances.max;
    count.mean = distances.mean();
  }
  count.bound = count.max;
  return count;
}

std::optional<Flow> first_unreached(const Graph& graph, const Receivers& receivers) {
  for (Rank from = 0; from < graph.ranks(); ++from) {
    const std::vector<std::uint32_t> hops = tree_from(graph, from).hops;
    if (std::ranges::count(hops, kUnreachable) == 0) break;  // the graph is connected
    for (const Rank to : receivers(from))
      if (hops[to] == kUnreachable) return Flow{from, to};
  }
  return std::nullopt;
}

HopCount count_searched(const ChosenShape& shape, const ChosenTraffic& traffic, Rank ranks,
                        Rank most) {
  const Graph graph = shape.make(ranks);
  const Receivers receivers = receivers_of(traffic, ranks);
  HopCount count{.unreached = first_unreached(graph, receivers)};
  if (count.unreached) return count;
  std::vector<Rank> senders;
  for (Rank rank = 0; rank < ranks; ++rank)
    if (!receivers(rank).empty()) senders.push_back(rank);
  count.senders = static_cast<Rank>(senders.size());
  count.looked_at = std::min(count.senders, most);
  Distances distances;
  std::uint64_t farthest = graph.ranks();  // that any rank is from one of those looked at
  for (std::uint64_t i = 0; i < count.looked_at; ++i) {
    const Rank from = senders[i * count.senders / count.looked_at];
    const Tree tree = tree_from(graph, from);
    for (const Rank to : receivers(from)) distances.add(tree.hops[to]);
    farthest = std::min<std::uint64_t>(farthest, *std::ranges::max_element(tree.hops));
  }
  count.max = distances.max;
  count.mean = distances.mean();
  count.bound = count.sampled() ? 2 * farthest : count.max;
  return count;
}

}  // namespace

HopCount count_hops(const ChosenShape& shape, const ChosenTraffic& traffic, Rank ranks, Rank most) {
  if (traffic.entry->flow_set == FlowSet::edges)
    return {.max = 1, .mean = 1, .bound = 1, .senders = ranks, .looked_at = ranks};
  return shape.shape->hops != nullptr ? count_closed(shape, traffic, ranks)
                                      : count_searched(shape, traffic, ranks, most);
}

}  // namespace rdmameter
