// SPDX-License-Identifier: Apache-2.0
// Which rank sends to which, whatever the graph between them: pure data, and the table of kinds.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topologies/graph.h"

namespace rdmameter {

struct Flow {
  Rank from, to;
  bool operator==(const Flow&) const = default;
};

/// How a traffic is driven and what a sample of it is.
enum class Drive {
  walk,      ///< one message at a time goes from stop to stop and comes back: a round trip
  exchange,  ///< every flow's message, then the next exchange: the time of one
  spread,    ///< the same, but a rank's message is one for all, copied where ways part
  stream,    ///< as many messages of each flow as there is room for
  drawn,     ///< a stream whose every message goes to another rank
};

/// What a traffic consists of among so many ranks.
struct TrafficPlan {
  /// Of Drive::walk: the stops of each walk, the first and last being its initiator.
  std::vector<std::vector<Rank>> walks;
  std::vector<Flow> flows;  ///< of the others: each that there may be
};

/// A kind of traffic. Adding one: its file under traffic/ and its row in traffics.cpp.
struct TrafficKind {
  std::string_view name;
  std::string_view arguments;  ///< "", ":K"
  std::size_t argument_count;
  Drive drive;
  std::string_view description;
  /// Why there is no such traffic among so many ranks; empty: there is.
  std::string (*why_not)(const std::vector<std::uint64_t>& arguments, Rank ranks);
  TrafficPlan (*make)(const Graph& graph, const std::vector<std::uint64_t>& arguments);
};

std::span<const TrafficKind> traffic_kinds();

struct ChosenTraffic {
  const TrafficKind* kind;
  std::vector<std::uint64_t> arguments;
};

/// @throws UsageError  there is no such traffic (the text lists them), or it takes other arguments
ChosenTraffic read_traffic(std::string_view text);

/// Drive::drawn: to whom a rank's n-th message goes. The same at every rank that asks.
Rank drawn_partner(std::uint64_t seed, Rank rank, std::uint64_t n, Rank ranks);

/// Every pair of ranks between which messages go, a walk's legs among them.
std::vector<Flow> legs_of(const TrafficPlan& plan);

}  // namespace rdmameter
