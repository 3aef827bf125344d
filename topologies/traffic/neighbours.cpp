// SPDX-License-Identifier: Apache-2.0
// Every edge both ways, as a halo exchange has it.
#include "topologies/traffic/traffic.h"

namespace rdmameter {

extern constexpr TrafficKind kNeighbours{.name = "neighbours",
                                         .traffic_mode = TrafficMode::exchange,
                                         .reach = Reach::once,
                                         .flow_set = FlowSet::edges,
                                         .description = "every edge both ways at once"};

}  // namespace rdmameter
