// SPDX-License-Identifier: Apache-2.0
// Many to one.
#include <fmt/format.h>

#include "topologies/traffic/traffic.h"

namespace rdmameter {

extern constexpr TrafficKind kIncast{
    .name = "incast",
    .arguments = ":K",
    .argument_count = 1,
    .traffic_mode = TrafficMode::stream,
    .description = "ranks 1 to K to rank 0, all the time",
    .why_not = [](const TrafficArguments& arguments, Rank ranks) -> std::string {
      if (arguments[0] >= 1 && arguments[0] < ranks) return {};
      return fmt::format("incast:{} among {} ranks: K is from 1 to {}, the number of other ranks",
                         arguments[0], ranks, ranks - 1);
    },
    .make =
        [](Rank, const TrafficArguments& arguments) {
          TrafficPlan plan;
          for (Rank from = 1; from <= arguments[0]; ++from) plan.flows.push_back({from, 0});
          return plan;
        }};

}  // namespace rdmameter
