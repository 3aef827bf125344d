// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/gid_pair.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <tuple>

#include "core/base/kernel_files.h"

namespace rdmameter {
namespace {

constexpr unsigned kGidBits = 128, kIpv4At = 96;  // of ::ffff:a.b.c.d
/// Of a network whose interface is not known; InfiniBand's subnet prefix is as long as IPv6's.
constexpr unsigned kUsualIpv4Bits = 24, kUsualIpv6Bits = 64;

unsigned common_bits(const ibv_gid& a, const ibv_gid& b) {
  for (unsigned byte = 0; byte < sizeof a.raw; ++byte)
    if (const auto differ = static_cast<std::uint8_t>(a.raw[byte] ^ b.raw[byte]); differ != 0)
      return 8 * byte + static_cast<unsigned>(std::countl_zero(differ));
  return kGidBits;
}

/// Bits of the GID that name its network.
unsigned network_bits(const Gid& gid) {
  const bool ipv4 = is_ipv4_mapped(gid.value);
  const unsigned bits = gid.subnet_bits != 0 ? gid.subnet_bits
                        : ipv4               ? kUsualIpv4Bits
                                             : kUsualIpv6Bits;
  return ipv4 ? kIpv4At + bits : bits;
}

/// The smaller, the better; the same for (a, b) and (b, a).
auto order_of(const Gid& a, const Gid& b) {
  const bool roce = a.type != GidType::ib;
  const auto raw = [](const Gid& gid) { return std::to_array(gid.value.raw); };
  return std::tuple{rank_of({a, b}),
                    !is_ipv4_mapped(a.value),
                    roce ? kGidBits - common_bits(a.value, b.value) : 0,
                    a.index + b.index,
                    std::min(raw(a), raw(b)),
                    std::max(raw(a), raw(b))};
}

/// Of a mask: its leading ones, without those of an IPv4 address's prefix.
std::uint8_t mask_bits(const ifaddrs& interface) {
  ibv_gid mask{};
  if (!gid_of_address(interface.ifa_netmask, mask)) return 0;
  const unsigned begin = interface.ifa_netmask->sa_family == AF_INET ? kIpv4At : 0;
  unsigned bits = 0;
  while (begin + bits < kGidBits &&
         (mask.raw[(begin + bits) / 8] & (0x80U >> ((begin + bits) % 8))) != 0)
    ++bits;
  return static_cast<std::uint8_t>(bits);
}

}  // namespace

std::vector<Gid> gids_to_offer(std::vector<Gid> gids, std::uint64_t requested) {
  if (requested != kAuto) {
    std::erase_if(gids, [requested](const Gid& gid) { return gid.index != requested; });
    return gids;
  }
  constexpr std::uint32_t kMostIndex = 255;  // of ibv_global_route
  std::erase_if(gids, [](const Gid& gid) { return gid.index > kMostIndex; });
  std::ranges::sort(gids, {}, gid_order);
  if (gids.size() > kMostGidsOffered) gids.resize(kMostGidsOffered);
  return gids;
}

bool gid_of_address(const sockaddr* address, ibv_gid& gid) {
  gid = {};
  if (address == nullptr) return false;
  if (address->sa_family == AF_INET6) {
    std::memcpy(gid.raw, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, 16);
    return true;
  }
  if (address->sa_family != AF_INET) return false;
  gid.raw[10] = gid.raw[11] = 0xff;
  std::memcpy(&gid.raw[12], &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, 4);
  return true;
}

InterfaceAddresses interface_addresses() {
  ifaddrs* list = nullptr;
  return InterfaceAddresses(getifaddrs(&list) == 0 ? list : nullptr);
}

void find_subnets(std::span<Gid> gids) {
  const auto list = interface_addresses();  // without it the usual lengths are assumed
  for (const ifaddrs* interface = list.get(); interface != nullptr;
       interface = interface->ifa_next) {
    ibv_gid address{};
    if (!gid_of_address(interface->ifa_addr, address)) continue;
    for (Gid& gid : gids)
      if (std::memcmp(gid.value.raw, address.raw, sizeof address.raw) == 0)
        gid.subnet_bits = mask_bits(*interface);
  }
}

GidPairRank rank_of(const GidPair& pair) {
  const auto& [a, b] = pair;
  const bool roce = a.type != GidType::ib;
  // What is sent from the address of another network namespace, or to it, goes astray.
  return {roce && (!a.here() || !b.here()), a.type == GidType::roce_v1,
          roce && (is_link_local(a.value) || is_link_local(b.value)), of_two_subnets(pair)};
}

bool of_two_subnets(const GidPair& pair) {
  const auto& [a, b] = pair;
  return common_bits(a.value, b.value) < std::max(network_bits(a), network_bits(b));
}

bool answers_for_each_other(const Gid& a, const Gid& b, const std::filesystem::path& proc) {
  // The larger of both values holds (Linux, Documentation/networking/ip-sysctl.rst).
  const auto ignores = [&](const std::string& netdev) {
    const auto conf = proc / "sys/net/ipv4/conf";
    return read_number(conf / "all/arp_ignore").value_or(0) > 0 ||
           read_number(conf / netdev / "arp_ignore").value_or(0) > 0;
  };
  // Of IPv6 the kernel answers for addresses of the asked interface alone (ndisc_recv_ns()).
  const bool two_here = a.here() && b.here() && !a.netdev.empty() && !b.netdev.empty() &&
                        a.netdev != b.netdev && is_ipv4_mapped(a.value) && is_ipv4_mapped(b.value);
  return two_here && !of_two_subnets({a, b}) && !(ignores(a.netdev) && ignores(b.netdev));
}

std::optional<GidPair> choose_gid_pair(std::span<const Gid> mine, std::span<const Gid> theirs) {
  std::optional<GidPair> best;
  for (const Gid& here : mine)
    for (const Gid& there : theirs)
      if (gids_match(here, there) &&
          (!best || order_of(here, there) < order_of(best->mine, best->theirs)))
        best = {here, there};
  return best;
}

}  // namespace rdmameter
