// SPDX-License-Identifier: Apache-2.0
// Every rank with every other, there and back, and each of the two begins once.
#include "topologies/traffic/traffic.h"

namespace rdmameter {

extern constexpr TrafficKind kPairs{
    .name = "pairs",
    .traffic_mode = TrafficMode::round_trip,
    .reach = Reach::pair,
    .flow_set = FlowSet::others,
    .description =
        "round trips between every two ranks, in rounds of pairs that have no rank in common"};

// Every rank to every other, as much as it can, while no other pair disturbs the two.

extern constexpr TrafficKind kPairsBandwidth{
    .name = "pairs-bw",
    .traffic_mode = TrafficMode::stream,
    .reach = Reach::pair_stream,
    .flow_set = FlowSet::others,
    .description =
        "a stream from each rank to every other one, in rounds of pairs that have no rank in "
        "common: the bandwidth of each pair and direction"};

// What the narrowest cut of the network carries: rank r with rank r + n/2, both ways. Of an odd
// number of ranks the last one is left out.

extern constexpr TrafficKind kBisection{
    .name = "bisection",
    .traffic_mode = TrafficMode::stream,
    .description = "each rank of one half with one of the other, both ways, all the time",
    .make = [](Rank ranks, const TrafficArguments&) {
      TrafficPlan plan;
      const Rank half = ranks / 2;
      for (Rank rank = 0; rank < half; ++rank) {
        plan.flows.push_back({rank, rank + half});
        plan.flows.push_back({rank + half, rank});
      }
      return plan;
    }};

}  // namespace rdmameter
