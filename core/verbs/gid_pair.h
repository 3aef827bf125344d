// SPDX-License-Identifier: Apache-2.0
// Which GIDs two ends use towards each other. An end alone cannot choose: with VLANs, and on hosts
// with networks for storage, the first address of one port does not lead to the first of another.
#pragma once

#include <ifaddrs.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/result/field_list.h"
#include "core/verbs/gid.h"
#include "core/verbs/handles.h"

namespace rdmameter {

/// An end offers so many of its GIDs at most.
inline constexpr std::size_t kMostGidsOffered = 16;

/// The GIDs of its port that an end may use: the best kMostGidsOffered by choose_gid()'s order, or
/// the one that was asked for.
/// @param requested  table index, or kAuto
std::vector<Gid> gids_to_offer(std::vector<Gid> gids, std::uint64_t requested);

/// The addresses of this machine's network interfaces; null: the kernel tells none.
using InterfaceAddresses = std::unique_ptr<ifaddrs, Destroyer<freeifaddrs>>;
InterfaceAddresses interface_addresses();

/// Sets `subnet_bits` of those that are addresses of this machine's interfaces (getifaddrs(3)).
void find_subnets(std::span<Gid> gids);

/// The GID that an interface's address makes. @return false: it is no IP address
bool gid_of_address(const sockaddr* address, ibv_gid& gid);

struct GidPair {
  Gid mine, theirs;
};

/// The best two that can talk (gids_match()): RoCE v2 before v1; then what is not link-local;
/// then of one subnet; then IPv4; then with the longest common prefix; then the lowest indices.
/// Both ends find the same pair.
/// @return nullopt: no two of them can talk
std::optional<GidPair> choose_gid_pair(std::span<const Gid> mine, std::span<const Gid> theirs);

/// How well two that can talk go together, of which the lesser is the better: an address of another
/// network namespace, RoCE v1, link-local, of two subnets. It comes first in
/// choose_gid_pair()'s order.
using GidPairRank = std::array<bool, 4>;
GidPairRank rank_of(const GidPair& pair);
bool of_two_subnets(const GidPair& pair);

/// What to do where two network interfaces of a machine are in one subnet.
inline constexpr const char* kOneSubnetRemedy =
    "give each port a subnet of its own; or sysctl net.ipv4.conf.all.arp_ignore=1 and "
    "arp_announce=2, and a routing rule for each address (`ip rule add from`)";

/// May this machine answer ARP requests for one of two own addresses by the interface of the other?
/// So it does for IPv4 addresses of one subnet, unless arp_ignore of both interfaces is set.
/// @param proc  another tree, for tests
bool answers_for_each_other(const Gid& a, const Gid& b,
                            const std::filesystem::path& proc = "/proc");

/// The fields of a GID that an end sends to its peer.
void list_fields(auto& fields, Is<Gid> auto& gid) {
  fields("index", gid.index, {.max = 255});  // as ibv_global_route holds it
  fields.coded("gid", gid.value, gid_text, gid_from_text);
  fields.coded("gid_type", gid.type, gid_type_name, gid_type_from_name);
  fields("subnet_bits", gid.subnet_bits, {.max = 128});
}

}  // namespace rdmameter
