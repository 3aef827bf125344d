// SPDX-License-Identifier: Apache-2.0
// One message that visits every rank in their order and comes back to rank 0.
#include <numeric>

#include "topologies/traffic/traffic.h"

namespace rdmameter {

extern constexpr TrafficKind kToken{.name = "token",
                                    .traffic_mode = TrafficMode::round_trip,
                                    .description = "one message around: 0, 1, 2 ... 0",
                                    .make = [](Rank ranks, const TrafficArguments&) {
                                      std::vector<Rank> stops(ranks + 1);
                                      std::iota(stops.begin(), stops.end() - 1, Rank{0});
                                      return TrafficPlan{.round_trips = {stops}};
                                    }};

}  // namespace rdmameter
