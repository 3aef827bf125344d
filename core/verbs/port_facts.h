// SPDX-License-Identifier: Apache-2.0
// What an end knows of each port that it could use: the choice among them is made from this alone.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "core/test_case/test_case.h"
#include "core/verbs/gid.h"

namespace rdmameter {

/// So many devices are looked at, each of which must be opened, and so many ports are told of: a
/// host has hundreds of virtual functions.
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
/// @param device     empty: all
/// @param gid_index  kAuto, or the only GID that counts
/// @return  also those that cannot be used; empty: there is no (such) device
std::vector<PortFacts> list_ports(std::string_view device, std::uint64_t gid_index);

nlohmann::json ports_to_wire(std::vector<PortFacts> ports);
/// @throws MeasurementError  a field is missing or out of range
std::vector<PortFacts> ports_from_wire(const nlohmann::json& message);

}  // namespace rdmameter
