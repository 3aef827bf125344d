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

}  // namespace rdmameter
