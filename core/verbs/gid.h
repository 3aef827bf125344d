// SPDX-License-Identifier: Apache-2.0
// GIDs: what an end is addressed by, and which of a port's many to use.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>

#include "core/test_case/test_case.h"

namespace rdmameter {

/// iWARP's ports have no GIDs that name them: there it is an IP address of the network interface.
enum class GidType { ib, roce_v1, roce_v2, iwarp };

struct Gid {
  std::uint32_t index = 0;  ///< in the port's table; means nothing to the peer
  ibv_gid value{};
  GidType type = GidType::ib;
  std::string
      netdev;  ///< RoCE, iWARP: the network interface it comes from; empty: none or not known
  std::uint8_t subnet_bits = 0;  ///< RoCE, iWARP: length of its network's prefix; 0: not known

  /// Is it an address of this network namespace? A port's table has those of all of them.
  bool here() const { return subnet_bits != 0; }
};

/// "ib", "roce_v1", "roce_v2", "iwarp": also the wire's and the result file's words.
std::string_view gid_type_name(GidType type);
std::optional<GidType> gid_type_from_name(std::string_view name);

/// The GID as inet_ntop writes an IPv6 address: "fe80::1", "::ffff:10.9.0.1".
std::string gid_text(const ibv_gid& gid);
/// @return nullopt when `text` is no IPv6 address
std::optional<ibv_gid> gid_from_text(std::string_view text);

/// Is it an IPv4 address mapped into IPv6 (its first ten bytes zero, then two of 0xff)?
bool is_ipv4_mapped(const ibv_gid& gid);
/// Is it of fe80::/10, which no router passes on?
bool is_link_local(const ibv_gid& gid);

/// The GID's place in choose_gid()'s order on Ethernet: the smaller, the better.
std::tuple<bool, int, std::uint32_t> gid_order(const Gid& gid);

/// Picks the GID to use. By itself: on InfiniBand index 0, on Ethernet of those that are addresses
/// of interfaces here (if there are any, and find_subnets() has looked) RoCE v2 from an IPv4
/// address, then from a global IPv6 address, then from a link-local one, then RoCE v1 likewise; the
/// lowest index of equals.
/// @param gids        what the port has, without empty entries
/// @param link_layer  IBV_LINK_LAYER_*
/// @param requested   table index, or kAuto
/// @param where       device/port, for the error's text
/// @throws UsageError      the index is not there; the text lists those that are
/// @throws UnusableDevice  the port has no GID at all
Gid choose_gid(std::span<const Gid> gids, int link_layer, std::uint64_t requested,
               std::string_view where);

/// Can these two talk? RoCE v1, v2 and iWARP are different protocols, and an IPv4 address makes
/// IPv4 packets.
bool gids_match(const Gid& mine, const Gid& theirs);

/// The reason why two GIDs cannot talk, as a text.
/// @return what is wrong and which options mend it; empty: nothing
std::string check_gid_match(const Gid& mine, const Gid& theirs);

}  // namespace rdmameter
