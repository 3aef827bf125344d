// SPDX-License-Identifier: Apache-2.0
// Every rank to every other one: a message for each, or one for all.
#include <fmt/format.h>

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

// Many to one.

extern constexpr TrafficKind kIncast{
    .name = "incast",
    .arguments = ":K",
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

// Uniform partners, each message's drawn from its number, so that the receiver knows them too.

namespace {

/// SplitMix64's finalizer (Steele, Lea, Flood 2014).
std::uint64_t mixed(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

}  // namespace

Rank drawn_partner(std::uint64_t seed, Rank rank, std::uint64_t n, Rank ranks) {
  __extension__ using uint128 = unsigned __int128;
  const std::uint64_t word = mixed(mixed(seed * 0x9e3779b97f4a7c15 + rank) + n);
  const auto other = static_cast<Rank>((static_cast<uint128>(word) * (ranks - 1)) >> 64);
  return other < rank ? other : other + 1;
}

extern constexpr TrafficKind kRandomTraffic{
    .name = "random",
    .traffic_mode = TrafficMode::drawn,
    .reach = Reach::between_all,
    .flow_set = FlowSet::others,
    .description = "every message to a rank that is drawn (--seed), all the time"};

}  // namespace rdmameter
