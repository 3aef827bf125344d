// SPDX-License-Identifier: Apache-2.0
// What a simulated network is like: the times of messages, by the kind of path between two ranks.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "topologies/graphs/graph.h"

namespace rdmameter {

/// One picosecond is the unit of simulated time: a byte at 400 Gb/s takes 20.
inline constexpr std::uint64_t kPsPerNs = 1000;

/// A message of b bytes that meets no other arrives delay + b * ps_per_byte after its post.
struct SimPath {
  std::uint64_t delay_ps = 0;        ///< of a message that begins here, of credits, barriers, ACKs
  std::uint64_t relay_delay_ps = 0;  ///< of one that is passed on
  double ps_per_byte = 0;            ///< of a rank's port, in each direction

  std::uint64_t bytes_ps(std::uint64_t bytes) const {
    return static_cast<std::uint64_t>(std::llround(static_cast<double>(bytes) * ps_per_byte));
  }
};

struct SimNetwork {
  SimPath between_hosts;
  SimPath within_host;  ///< by ports of its own
  Rank ranks_per_host = 1;

  bool same_host(Rank a, Rank b) const { return a / ranks_per_host == b / ranks_per_host; }
  const SimPath& path(Rank a, Rank b) const {
    return same_host(a, b) ? within_host : between_hosts;
  }
};

/// How a network is typed.
inline constexpr std::string_view kNetworkForm =
    "delay:SECONDS, or from:FILE with the result of a measurement, and any of relay:SECONDS, "
    "rate:BITS, ranks-per-host:N, host-delay:SECONDS, host-relay:SECONDS and host-rate:BITS, "
    "separated by commas, such as delay:2us,rate:100Gb/s";

/// Reads kNetworkForm, but for from:FILE. What is not given: relay is as delay, the rate is
/// 100Gb/s, a host has one rank; host-delay and host-rate are as delay and rate, and host-relay is
/// as host-delay, or as relay where neither is given.
/// @throws UsageError  it is something else; the text names --simulate
SimNetwork read_network(std::string_view text);

}  // namespace rdmameter
