// SPDX-License-Identifier: Apache-2.0
// Every rank to every other one: a message for each, or one for all.
#include "topologies/traffic/traffic.h"

namespace rdmameter {

extern constexpr TrafficKind kAlltoall{.name = "alltoall",
                                       .traffic_mode = TrafficMode::exchange,
                                       .reach = Reach::between_all,
                                       .flow_set = FlowSet::others,
                                       .description = "a message of its own to every other rank"};

extern constexpr TrafficKind kAllgather{.name = "allgather",
                                        .traffic_mode = TrafficMode::spread,
                                        .reach = Reach::once,
                                        .flow_set = FlowSet::others,
                                        .description = "every rank's message to all others"};

}  // namespace rdmameter
