// SPDX-License-Identifier: Apache-2.0
// Every rank to every other, as much as it can, while no other pair disturbs the two.
#include "topologies/traffic/traffic.h"

namespace rdmameter {

extern constexpr TrafficKind kPairsBandwidth{
    .name = "pairs-bw",
    .traffic_mode = TrafficMode::stream,
    .reach = Reach::pair_stream,
    .flow_set = FlowSet::others,
    .description =
        "a stream from each rank to every other one, in rounds of pairs that have no rank in "
        "common: the bandwidth of each pair and direction"};

}  // namespace rdmameter
