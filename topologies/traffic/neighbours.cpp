// SPDX-License-Identifier: Apache-2.0
// Every edge both ways, as a halo exchange has it.
#include <numeric>

#include "topologies/traffic/traffic.h"

namespace rdmameter {

extern constexpr TrafficKind kNeighbours{.name = "neighbours",
                                         .traffic_mode = TrafficMode::exchange,
                                         .reach = Reach::once,
                                         .flow_set = FlowSet::edges,
                                         .description = "every edge both ways at once"};

// Every rank to all its neighbours in turn: each of its QPs carries messages, as many as it can.

extern constexpr TrafficKind kFlood{
    .name = "flood",
    .traffic_mode = TrafficMode::stream,
    .flow_set = FlowSet::edges,
    .description = "every rank to all its neighbours in turn, all the time"};

// One message that visits every rank in their order and comes back to rank 0.

extern constexpr TrafficKind kToken{.name = "token",
                                    .traffic_mode = TrafficMode::round_trip,
                                    .description = "one message around: 0, 1, 2 ... 0",
                                    .make = [](Rank ranks, const TrafficArguments&) {
                                      std::vector<Rank> stops(ranks + 1);
                                      std::iota(stops.begin(), stops.end() - 1, Rank{0});
                                      return TrafficPlan{.round_trips = {stops}};
                                    }};

}  // namespace rdmameter
