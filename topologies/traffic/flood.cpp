// SPDX-License-Identifier: Apache-2.0
// Every rank to all its neighbours in turn: each of its QPs carries messages, as many as it can.
#include "topologies/traffic/traffic.h"

namespace rdmameter {

extern constexpr TrafficKind kFlood{
    .name = "flood",
    .traffic_mode = TrafficMode::stream,
    .flow_set = FlowSet::edges,
    .description = "every rank to all its neighbours in turn, all the time"};

}  // namespace rdmameter
