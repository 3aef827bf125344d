// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/cm/cm_address.h"

#include <arpa/inet.h>
#include <endian.h>
#include <infiniband/ib.h>
#include <netinet/in.h>

#include <cstring>

#include "tests/software_device/device/personality.h"

namespace rdmameter::software {

std::optional<CmAddress> cm_address_of(const sockaddr& address) {
  CmAddress made;
  if (address.sa_family == AF_INET) {
    const auto& ipv4 = reinterpret_cast<const sockaddr_in&>(address);
    made.gid.raw[10] = made.gid.raw[11] = 0xff;
    std::memcpy(&made.gid.raw[kIpv4At], &ipv4.sin_addr, sizeof ipv4.sin_addr);
    made.port = ntohs(ipv4.sin_port);
    return made;
  }
  if (address.sa_family == AF_IB) {
    const auto& infiniband = reinterpret_cast<const sockaddr_ib&>(address);
    std::memcpy(made.gid.raw, &infiniband.sib_addr, sizeof made.gid.raw);
    made.port =
        static_cast<std::uint16_t>(be64toh(infiniband.sib_sid) & be64toh(infiniband.sib_sid_mask));
    made.infiniband = true;
    return made;
  }
  if (address.sa_family != AF_INET6) return std::nullopt;
  const auto& ipv6 = reinterpret_cast<const sockaddr_in6&>(address);
  std::memcpy(made.gid.raw, &ipv6.sin6_addr, sizeof made.gid.raw);
  made.port = ntohs(ipv6.sin6_port);
  return made;
}

void set_port(sockaddr& address, std::uint16_t port) {
  // In both structs the port is the first field behind the family.
  reinterpret_cast<sockaddr_in&>(address).sin_port = htons(port);
}

std::size_t length_of(const sockaddr& address) {
  return address.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

sockaddr_storage sockaddr_of(const CmAddress& address) {
  sockaddr_storage made{};
  if (address.infiniband) {
    auto& infiniband = reinterpret_cast<sockaddr_ib&>(made);
    infiniband.sib_family = AF_IB;
    std::memcpy(&infiniband.sib_addr, address.gid.raw, sizeof address.gid.raw);
    infiniband.sib_sid = htobe64(address.port);
    infiniband.sib_sid_mask = ~std::uint64_t{0};
    return made;
  }
  if (is_ipv4(address.gid)) {
    auto& ipv4 = reinterpret_cast<sockaddr_in&>(made);
    ipv4.sin_family = AF_INET;
    std::memcpy(&ipv4.sin_addr, &address.gid.raw[kIpv4At], sizeof ipv4.sin_addr);
  } else {
    auto& ipv6 = reinterpret_cast<sockaddr_in6&>(made);
    ipv6.sin6_family = AF_INET6;
    std::memcpy(&ipv6.sin6_addr, address.gid.raw, sizeof ipv6.sin6_addr);
  }
  set_port(reinterpret_cast<sockaddr&>(made), address.port);
  return made;
}

std::optional<CmPort> port_of(const ibv_gid& gid) {
  for (std::uint32_t device = 0; device < kDevices; ++device) {
    const bool by_ipv4 = personality(device).iwarp() || personality(device).ipoib;
    if (by_ipv4 && same_gid(gid, ipv4_gid(device))) return CmPort{device, 0};
    const std::uint32_t type =
        personality(device).infiniband() ? IBV_GID_TYPE_IB : IBV_GID_TYPE_ROCE_V2;
    for (std::uint8_t index = 0; index < kGids; ++index)
      if (const auto entry = gid_at(device, index);
          entry && entry->type == type && same_gid(gid, entry->gid))
        return CmPort{device, index};
  }
  return std::nullopt;
}

}  // namespace rdmameter::software
