// SPDX-License-Identifier: Apache-2.0
#include "topologies/traffic/connection_memory.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kLine = 64, kPageBytes = 4096;
constexpr std::uint64_t kHeaderBytes = 40;  ///< GRH, ahead of a datagram
constexpr std::uint64_t kQpBytes = 4096, kTableBytesPerPage = 8;

constexpr std::uint64_t whole(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

}  // namespace

RankAreas rank_areas(std::uint64_t links, std::uint64_t hop_classes, std::uint64_t message_bytes,
                     bool datagram) {
  const std::uint64_t words = whole(links * hop_classes * sizeof(std::uint32_t), kLine);
  const std::uint64_t stride = whole(message_bytes + (datagram ? kHeaderBytes : 0), kLine);
  return {
      .stride = stride, .credited = stride, .freed = stride + words, .buffers = stride + 2 * words};
}

std::vector<std::pair<std::string, std::uint64_t>> connection_bytes(
    const ConnectionDemand& demand) {
  const RankAreas at =
      rank_areas(demand.links, demand.hop_classes, demand.message_bytes, demand.datagram);
  const std::uint64_t buffers = at.buffers + demand.places * at.stride;
  const std::uint64_t entries = (demand.sends + demand.receives) * kQueueEntryBytes;
  return {{"buffers", buffers},
          {"qps", demand.qps() * kQpBytes + entries},
          {"cqs", demand.cqs * whole(entries / demand.cqs, kPageBytes)},  // each mapped by itself
          {"mrs", whole(buffers, kPageBytes) / kPageBytes * kTableBytesPerPage}};
}

}  // namespace rdmameter
