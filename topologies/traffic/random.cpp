// SPDX-License-Identifier: Apache-2.0
// Uniform partners, each message's drawn from its number, so that the receiver knows them too.
#include "topologies/traffic/traffic.h"

namespace rdmameter {
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
