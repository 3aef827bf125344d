// SPDX-License-Identifier: Apache-2.0
// The table of traffics: one is declared here and nowhere else.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "core/error.h"
#include "topologies/shape_text.h"
#include "topologies/traffic.h"
#include "topologies/traffic/traffic.h"

namespace rdmameter {
namespace {

std::string among_any(const std::vector<std::uint64_t>&, Rank) {
  return {};
}

constexpr std::array kKinds{
    TrafficKind{"pairs", "", 0, Drive::walk,
                "round trips between every two ranks, one pair at a time, the network else quiet",
                among_any, make_pairs},
    TrafficKind{"token", "", 0, Drive::walk, "one message around: 0, 1, 2 ... 0", among_any,
                make_token},
    TrafficKind{"neighbours", "", 0, Drive::exchange, "every edge both ways at once", among_any,
                make_neighbours},
    TrafficKind{"alltoall", "", 0, Drive::exchange, "a message of its own to every other rank",
                among_any, make_alltoall},
    TrafficKind{"allgather", "", 0, Drive::spread, "every rank's message to all others", among_any,
                make_alltoall},
    TrafficKind{"incast", ":K", 1, Drive::stream, "ranks 1 to K to rank 0, all the time",
                why_no_incast, make_incast},
    TrafficKind{"bisection", "", 0, Drive::stream,
                "each rank of one half with one of the other, both ways, all the time", among_any,
                make_bisection},
    TrafficKind{"random", "", 0, Drive::drawn,
                "every message to a rank that is drawn (--seed), all the time", among_any,
                make_alltoall},
};

}  // namespace

std::span<const TrafficKind> traffic_kinds() {
  return kKinds;
}

ChosenTraffic read_traffic(std::string_view text) {
  const auto parts = split_shape(text);
  const auto kind = std::ranges::find(kKinds, parts ? parts->name : "", &TrafficKind::name);
  if (kind == kKinds.end()) {
    std::vector<std::string> known;
    for (const TrafficKind& each : kKinds)
      known.push_back(fmt::format("{}{}", each.name, each.arguments));
    throw UsageError(
        fmt::format("--traffic: there is no '{}' (traffics: {})", text, fmt::join(known, ", ")));
  }
  if (parts->numbers.size() != kind->argument_count)
    throw UsageError(
        fmt::format("--traffic {}: this traffic is typed {}{}", text, kind->name, kind->arguments));
  return {kind, parts->numbers};
}

std::vector<Flow> legs_of(const TrafficPlan& plan) {
  std::vector<Flow> legs = plan.flows;
  for (const auto& walk : plan.walks)
    for (std::size_t i = 1; i < walk.size(); ++i) legs.push_back({walk[i - 1], walk[i]});
  return legs;
}

}  // namespace rdmameter
