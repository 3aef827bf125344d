// SPDX-License-Identifier: Apache-2.0
// What the connections of a rank take, from what was asked for: one closed form for the ranks that
// measure and for those that are predicted.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rdmameter {

struct ConnectionDemand {
  std::uint64_t links = 0;  ///< QPs to neighbours; of a datagram QP, the neighbours
  std::uint64_t message_bytes = 0;
  std::uint64_t sends = 0, receives = 0;  ///< of all links, posted at once
  std::uint64_t places = 0;               ///< for messages that come in
  std::uint64_t hop_classes = 1;          ///< of any message
  std::uint64_t cqs = 1;
  bool datagram = false;

  std::uint64_t qps() const { return datagram ? 1 : links; }
};

/// Where what lies in a rank's memory, behind the one message that it sends [bytes].
struct RankAreas {
  std::uint64_t stride = 0;  ///< from message to message
  std::uint64_t credited = 0, freed = 0, buffers = 0;
};
RankAreas rank_areas(std::uint64_t links, std::uint64_t hop_classes, std::uint64_t message_bytes,
                     bool datagram);

/// The memory of a provider for an entry of a queue or CQ, as far as that is known
/// without asking it.
inline constexpr std::uint64_t kQueueEntryBytes = 64;

/// The memory by kind: "buffers", "qps", "cqs", "mrs".
std::vector<std::pair<std::string, std::uint64_t>> connection_bytes(const ConnectionDemand& demand);

}  // namespace rdmameter
