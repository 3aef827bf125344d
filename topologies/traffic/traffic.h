// SPDX-License-Identifier: Apache-2.0
// Which rank sends to which, whatever the graph between them: pure data, and the table of kinds.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/collectives/collective.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {

struct Flow {
  Rank from, to;
  bool operator==(const Flow&) const = default;
};

/// How a traffic is driven and what a sample of it is.
enum class TrafficMode {
  round_trip,  ///< one message at a time goes from stop to stop and comes back
  exchange,    ///< every flow's message, then the next exchange: the time of one
  spread,      ///< an exchange in which a rank's message is one for all, copied where routes part
  stream,      ///< as many messages of each flow as there is room for
  drawn,       ///< a stream whose every message goes to another rank
  collective,  ///< each rank by its schedule, between two barriers: the time of the slowest
};

/// How far the messages of a traffic go: what the model of costs knows of it.
enum class Reach {
  pair,         ///< between two ranks that no others disturb: its latency is the path's
  pair_stream,  ///< between two such ranks: its bandwidth is the path's
  once,         ///< sent once for each rank that gets it: to a neighbour, or copied on its route
  between_all,  ///< from every rank to all others alike
  other
};

/// Between which ranks its messages go.
enum class FlowSet {
  made,    ///< what TrafficKind::make lists, or a collective: not many for each rank
  edges,   ///< from every rank to its neighbours
  others,  ///< from every rank to every other
};

/// The plan of a traffic of FlowSet::made among so many ranks.
struct TrafficPlan {
  /// TrafficMode::round_trip: the stops of each round trip, the first and last being its initiator.
  std::vector<std::vector<Rank>> round_trips = {};
  std::vector<Flow> flows = {};  ///< of the others: each that there may be
};

using TrafficArguments = std::vector<std::uint64_t>;

/// A kind of traffic, all that the program knows of it. Adding one: a file with this entry, and its
/// name in traffic.cpp. Collectives have a table of their own, from which their entries are made.
struct TrafficKind {
  std::string_view name;
  std::string_view arguments = "";  ///< how they are typed: "", ":K"
  TrafficMode traffic_mode;
  Reach reach = Reach::other;
  FlowSet flow_set = FlowSet::made;
  std::string_view description;
  /// Why there is no such traffic among so many ranks; empty: there is.
  std::string (*why_not)(const TrafficArguments&, Rank ranks) = [](const TrafficArguments&, Rank) {
    return std::string();
  };
  /// FlowSet::made: makes the plan; null: a collective, whose flows are
  /// those of collective_totals().
  TrafficPlan (*make)(Rank ranks, const TrafficArguments&) = nullptr;
  const Collective* collective = nullptr;  ///< of TrafficMode::collective
};

std::span<const TrafficKind* const> traffic_kinds();

using ChosenTraffic = ChosenEntry<TrafficKind>;

/// @return nothing: there is no such traffic, or it takes other arguments
inline std::optional<ChosenTraffic> find_traffic(std::string_view text) {
  return find_entry(traffic_kinds(), text);
}

/// The reach of a traffic as a result names it: one that is not known here is `other`.
Reach reach_of(std::string_view traffic);

/// Are pairs of ranks measured in rounds? See pair_rounds().
constexpr bool in_rounds(Reach reach) {
  return reach == Reach::pair || reach == Reach::pair_stream;
}

/// @throws UsageError  there is no such traffic (the text lists them), or it takes other arguments
inline ChosenTraffic read_traffic(std::string_view text) {
  return read_entry(traffic_kinds(), "traffic", text);
}

/// TrafficMode::drawn: the receiver of a rank's n-th message. Every rank computes the same.
Rank drawn_partner(std::uint64_t seed, Rank rank, std::uint64_t n, Rank ranks);

/// Every pair of ranks between which messages go, two stops of a round trip that follow each other
/// among them.
std::vector<Flow> flows_of(const TrafficPlan& plan);

}  // namespace rdmameter
