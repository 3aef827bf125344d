// SPDX-License-Identifier: Apache-2.0
// What an end knows of each port that it could use: the choice among them is made from this alone.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result/field_list.h"
#include "core/test_case/test_case.h"
#include "core/verbs/gid.h"
#include "core/verbs/gid_pair.h"

namespace rdmameter {

/// The most devices that are looked at (each must be opened), and the most ports that are sent to a
/// peer: a host may have hundreds of virtual functions.
inline constexpr std::size_t kMostDevicesLookedAt = 64, kMostPortsTold = 64;

struct PortFacts {
  std::string device;
  std::uint8_t number = 0;  ///< from 1; 0: not known, the device cannot be opened
  ibv_port_state state = IBV_PORT_NOP;
  int link_layer = IBV_LINK_LAYER_UNSPECIFIED;
  bool iwarp = false;
  std::vector<Gid> gids;         ///< that it may use: see gids_to_offer()
  std::vector<Transport> lacks;  ///< that its QPs were found not to have

  bool opens() const { return number != 0; }
  bool has(Transport transport) const;
  /// Can anything be measured on it? ACTIVE, with a GID.
  bool usable() const { return state == IBV_PORT_ACTIVE && !gids.empty(); }
  std::string where() const;  ///< "mlx5_0/1"; of one that does not open "mlx5_0"
};

/// "InfiniBand", "RoCE", "iWARP"; what is none of them (EFA): "of no known link layer"
std::string_view kind_name(const PortFacts& port);

/// The ports of this end, in libibverbs' order. QPs are tried only where ports of devices of
/// several models can be used: those of one model have the same transports.
/// @param device     as EndSettings has it; empty: all
/// @param gid_index  kAuto, or the only GID that counts
/// @return  also those that cannot be used; empty: there is no (such) device
std::vector<PortFacts> list_ports(std::string_view device, std::uint64_t gid_index);

/// The ports that are sent to a peer: up to kMostPortsTold, those that can be chosen before those
/// that only have a reason.
std::vector<PortFacts> ports_to_tell(std::vector<PortFacts> ports);

/// The fields of a port that an end sends to its peer.
void list_fields(auto& fields, Is<PortFacts> auto& port) {
  fields("device", port.device, {.min_size = 1, .max_size = IBV_SYSFS_NAME_MAX});
  fields("port_num", port.number);
  fields("state", port.state, {.max = 7});  // room for later ones
  fields("link_layer", port.link_layer, {.max = 255});
  fields("iwarp", port.iwarp);
  fields("gids", port.gids, {.max_size = kMostGidsOffered});
  fields("lacks", port.lacks, {.max = static_cast<std::uint64_t>(Transport::ud), .max_size = 3});
}

}  // namespace rdmameter
