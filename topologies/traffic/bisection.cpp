// SPDX-License-Identifier: Apache-2.0
// What the narrowest cut of the network carries: rank r with rank r + n/2, both ways. Of an odd
// number of ranks the last one is left out.
#include "topologies/traffic/traffic.h"

namespace rdmameter {

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
