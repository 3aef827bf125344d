// SPDX-License-Identifier: Apache-2.0
// What a simulated network is like: the times of messages, by the kind of path between two ranks.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
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
    return static_cast<std::uint64_t>(std::llround(real(bytes) * ps_per_byte));
  }
};

/// The kind of a pair of ranks. Each kind has a path, and each rank a port for it.
enum class SimKind : std::size_t { other_host, same_host, other_numa };

struct SimKindRow {
  SimKind kind;
  std::string_view prefix;  ///< of its parts in kNetworkForm: delay, relay and rate
  SimKind like;             ///< whose path it has where its parts are not given
};
inline constexpr std::array kSimKinds{
    SimKindRow{SimKind::other_host, "", SimKind::other_host},
    SimKindRow{SimKind::same_host, "host-", SimKind::other_host},
    SimKindRow{SimKind::other_numa, "numa-", SimKind::same_host},
};

struct SimNetwork {
  std::array<SimPath, kSimKinds.size()> paths;
  Rank ranks_per_host = 1;
  Rank ranks_per_numa = 0;  ///< of a host, one after the other; 0: nodes have no such number
  Rank numa_in_turn = 0;    ///< nodes of a host, that its ranks are on in turn; 0: they are not

  SimPath& path(SimKind kind) { return paths[static_cast<std::size_t>(kind)]; }
  const SimPath& path(SimKind kind) const { return paths[static_cast<std::size_t>(kind)]; }

  SimKind kind(Rank a, Rank b) const {
    if (a / ranks_per_host != b / ranks_per_host) return SimKind::other_host;
    return numa_node(a) == numa_node(b) ? SimKind::same_host : SimKind::other_numa;
  }

  /// The number of the rank's NUMA node within its host.
  Rank numa_node(Rank rank) const {
    const Rank on_host = rank % ranks_per_host;
    if (ranks_per_numa != 0) return on_host / ranks_per_numa;
    return numa_in_turn != 0 ? on_host % numa_in_turn : 0;
  }
};

/// How a network is typed.
inline constexpr std::string_view kNetworkForm =
    "delay:SECONDS, or from:FILE with the result of a measurement, and any of relay:SECONDS, "
    "rate:BITS, ranks-per-host:N, host-delay:SECONDS, host-relay:SECONDS, host-rate:BITS, "
    "ranks-per-numa:N or numa-in-turn:N, numa-delay:SECONDS, numa-relay:SECONDS and "
    "numa-rate:BITS, separated by commas, such as delay:2us,rate:100Gb/s";

/// Reads kNetworkForm, but for from:FILE. What is not given: relay is as delay, the rate is
/// 100Gb/s, a host has one rank and one NUMA node; host-delay and host-rate are as delay and rate,
/// and host-relay is as host-delay, or as relay where neither is given; parts of numa are as those
/// of host.
/// @throws UsageError  it is something else; the text names --simulate
SimNetwork read_network(std::string_view text);

}  // namespace rdmameter
