// SPDX-License-Identifier: Apache-2.0
// Which device an IP address of rdma_cm belongs to.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>

#include "tests/software_device/cm/cm_exchange.h"

namespace rdmameter::software {

/// @return nullopt: not IPv4, IPv6 or AF_IB
std::optional<CmAddress> cm_address_of(const sockaddr& address);
/// The port is written into the address, which is of one of these families.
void set_port(sockaddr& address, std::uint16_t port);
std::size_t length_of(const sockaddr& address);
/// As a program sees it.
sockaddr_storage sockaddr_of(const CmAddress& address);

/// A device's port and its GID of an address: a RoCE v2 or InfiniBand GID, an iWARP port's IPv4
/// address.
struct CmPort {
  std::uint32_t device;
  std::uint8_t gid_index;
};
std::optional<CmPort> port_of(const ibv_gid& gid);

}  // namespace rdmameter::software
