// SPDX-License-Identifier: Apache-2.0
// The list of traffics, and how one is chosen from it.
#include "topologies/traffic/traffic.h"

#include <array>
#include <deque>

namespace rdmameter {

// Each in its own file.
extern const TrafficKind kPairs, kPairsBandwidth, kToken, kNeighbours, kAlltoall, kAllgather,
    kIncast, kBisection, kFlood, kRandomTraffic;

namespace {

constexpr std::array kTraffics{&kPairs,    &kPairsBandwidth, &kToken,  &kNeighbours,
                               &kAlltoall, &kAllgather,      &kIncast, &kBisection,
                               &kFlood,    &kRandomTraffic};

TrafficKind traffic_of(const Collective& collective) {
  return {.name = collective.name,
          .traffic_mode = TrafficMode::collective,
          .flow_set = collective.to_all ? FlowSet::others : FlowSet::made,
          .description = collective.description,
          .collective = &collective};
}

}  // namespace

std::span<const TrafficKind* const> traffic_kinds() {
  static std::deque<TrafficKind> of_collectives;  // others point to them
  static const std::vector<const TrafficKind*> all = [] {
    std::vector<const TrafficKind*> list(kTraffics.begin(), kTraffics.end());
    for (const Collective* collective : collectives())
      list.push_back(&of_collectives.emplace_back(traffic_of(*collective)));
    return list;
  }();
  return all;
}

Reach reach_of(std::string_view traffic) {
  const auto chosen = find_traffic(traffic);
  return chosen ? chosen->entry->reach : Reach::other;
}

std::vector<Flow> flows_of(const TrafficPlan& plan) {
  std::vector<Flow> flows = plan.flows;
  for (const auto& round_trip : plan.round_trips)
    for (std::size_t i = 1; i < round_trip.size(); ++i)
      flows.push_back({round_trip[i - 1], round_trip[i]});
  return flows;
}

}  // namespace rdmameter
