// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cm/cm_address.h"

#include <endian.h>
#include <fmt/format.h>
#include <infiniband/ib.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>

#include <array>
#include <cstddef>
#include <cstring>

#include "core/base/error.h"
#include "core/verbs/gid_pair.h"
#include "core/verbs/pkey.h"

namespace rdmameter {

rdma_port_space port_space(Transport transport) {
  switch (transport) {
    case Transport::rc:
      return RDMA_PS_TCP;
    case Transport::uc:
      return RDMA_PS_IB;
    case Transport::ud:
      return RDMA_PS_UDP;
  }
  return RDMA_PS_TCP;
}

CmAddress::CmAddress(const IpAddress& address) : host_(address.host()), text_(address.text()) {
  std::memcpy(&storage_, address.get(), address.length());
}

CmAddress CmAddress::of_infiniband(const ibv_gid& gid, rdma_port_space space, std::uint16_t pkey,
                                   std::uint16_t port) {
  constexpr unsigned kServiceShift = 16;  // of the port space in the ID (IBTA vol. 1, A11.2)
  CmAddress made;
  auto& address = reinterpret_cast<sockaddr_ib&>(made.storage_);
  address.sib_family = AF_IB;
  address.sib_pkey = htobe16(pkey);
  std::memcpy(&address.sib_addr, gid.raw, sizeof gid.raw);
  address.sib_sid = htobe64(std::uint64_t{space} << kServiceShift | port);
  address.sib_sid_mask = htobe64(port == 0 ? RDMA_IB_IP_PS_MASK : ~std::uint64_t{0});
  made.host_ = gid_text(gid);
  made.text_ = port == 0 ? made.host_ : fmt::format("[{}]:{}", made.host_, port);
  return made;
}

socklen_t CmAddress::length() const {
  if (infiniband()) return sizeof(sockaddr_ib);
  return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

CmAddress cm_address_of(const Gid& gid, int link_layer, const CmAddressTerms& terms,
                        const std::string& where) {
  if (gid.type == GidType::ib && link_layer == IBV_LINK_LAYER_INFINIBAND)
    return CmAddress::of_infiniband(gid.value, port_space(terms.transport),
                                    terms.pkey.value_or(kDefaultPkey), terms.port);
  if (gid.type != GidType::roce_v2 && gid.type != GidType::iwarp)
    throw Unsupported("rdma_cm needs IP addresses here, and the GID {} of {} is not one ({}): {}",
                      gid_text(gid.value), where, gid_type_name(gid.type),
                      gid.type == GidType::ib ? "use --connect tcp, or a test without rdma_cm"
                                              : "choose a RoCE v2 one with --gid-index");
  const std::uint32_t scope_id =
      is_link_local(gid.value) ? if_nametoindex(terms.netdev.c_str()) : 0;
  return CmAddress(IpAddress::of_bytes(gid.value.raw, terms.port, scope_id));
}

CmAddress group_address(const IpAddress& group, int link_layer, std::optional<std::uint16_t> pkey) {
  if (link_layer != IBV_LINK_LAYER_INFINIBAND) return CmAddress(group);
  const std::uint16_t partition = pkey.value_or(kDefaultPkey);
  ibv_gid mgid{};
  if (group.family() == AF_INET6) {
    const auto& bytes = reinterpret_cast<const sockaddr_in6*>(group.get())->sin6_addr;
    std::memcpy(mgid.raw, &bytes, sizeof mgid.raw);
  } else {
    // ff12: transient, of the subnet; 0x40, 0x01: IPv4 groups of rdma_cm's; the low 28 bits.
    constexpr std::array<std::uint8_t, 4> kBegin{0xff, 0x12, 0x40, 0x01};
    std::memcpy(mgid.raw, kBegin.data(), kBegin.size());
    const std::uint16_t big_endian = htobe16(partition | kFullMember);  // of limited members, too
    std::memcpy(&mgid.raw[4], &big_endian, sizeof big_endian);
    std::memcpy(&mgid.raw[12], &reinterpret_cast<const sockaddr_in*>(group.get())->sin_addr, 4);
    mgid.raw[12] &= 0x0f;
  }
  return CmAddress::of_infiniband(mgid, RDMA_PS_UDP, partition, 0);
}

namespace {

constexpr std::size_t kHardwareBytes = 20, kGidAt = 4, kPkeyAt = 8;
using HardwareAddress = std::array<std::uint8_t, kHardwareBytes>;

/// glibc's getifaddrs() has room for more bytes than sockaddr_ll (its sockaddr_ll_max).
bool take_hardware_address(const sockaddr* address, HardwareAddress& bytes) {
  if (address == nullptr || address->sa_family != AF_PACKET) return false;
  const auto& link = reinterpret_cast<const sockaddr_ll&>(*address);
  if (link.sll_hatype != ARPHRD_INFINIBAND || link.sll_halen != kHardwareBytes) return false;
  std::memcpy(bytes.data(),
              reinterpret_cast<const std::byte*>(address) + offsetof(sockaddr_ll, sll_addr),
              bytes.size());
  return true;
}

bool is_of_port(const ifaddrs& link, const ibv_gid& gid, std::uint16_t pkey) {
  HardwareAddress own{}, broadcast{};
  if (!take_hardware_address(link.ifa_addr, own) ||
      !take_hardware_address(link.ifa_broadaddr, broadcast))
    return false;
  const unsigned its_pkey = broadcast[kPkeyAt] << 8U | broadcast[kPkeyAt + 1];
  return std::memcmp(&own[kGidAt], gid.raw, sizeof gid.raw) == 0 &&
         ((its_pkey ^ pkey) & ~unsigned{kFullMember}) == 0;
}

/// Of an interface; IPv4 goes before IPv6.
std::optional<CmAddress> ip_address_of(const ifaddrs* list, std::string_view name) {
  for (const int family : {AF_INET, AF_INET6})
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
      ibv_gid address{};
      if (name != each->ifa_name || !gid_of_address(each->ifa_addr, address) ||
          each->ifa_addr->sa_family != family)
        continue;
      const std::uint32_t scope_id = is_link_local(address) ? if_nametoindex(each->ifa_name) : 0;
      return CmAddress(IpAddress::of_bytes(address.raw, 0, scope_id));
    }
  return std::nullopt;
}

}  // namespace

CmAddress ipoib_address(const ibv_gid& gid, std::optional<std::uint16_t> pkey,
                        const std::string& where) {
  const auto list = interface_addresses();
  const std::uint16_t partition = pkey.value_or(kDefaultPkey);
  for (const ifaddrs* each = list.get(); each != nullptr; each = each->ifa_next) {
    if (!is_of_port(*each, gid, partition)) continue;
    if (const auto address = ip_address_of(list.get(), each->ifa_name)) return *address;
  }
  throw Unsupported(
      "{} joins multicast groups of InfiniBand by the IP address of its interface of "
      "IPoIB alone, and no interface of GID {} and of the partition {:#x} has one here: "
      "load ib_ipoib and give its interface an address",
      where, gid_text(gid), partition);
}

}  // namespace rdmameter
