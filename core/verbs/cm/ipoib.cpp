// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/cm/ipoib.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <memory>

#include "core/base/error.h"
#include "core/verbs/gid_pair.h"
#include "core/verbs/pkey.h"

namespace rdmameter {
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
  ifaddrs* list = nullptr;
  const bool listed = getifaddrs(&list) == 0;
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner{listed ? list : nullptr,
                                                               freeifaddrs};
  const std::uint16_t partition = pkey.value_or(kDefaultPkey);
  for (const ifaddrs* each = owner.get(); each != nullptr; each = each->ifa_next) {
    if (!is_of_port(*each, gid, partition)) continue;
    if (const auto address = ip_address_of(owner.get(), each->ifa_name)) return *address;
  }
  throw Unsupported(fmt::format(
      "{} joins multicast groups of InfiniBand by the IP address of its interface of "
      "IPoIB alone, and no interface of GID {} and of the partition {:#x} has one here: "
      "load ib_ipoib and give its interface an address",
      where, gid_text(gid), partition));
}

}  // namespace rdmameter
