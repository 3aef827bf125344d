// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/device/personality.h"

#include <endian.h>

#include <algorithm>
#include <cstring>

#include "tests/software_device/device/settings.h"

namespace rdmameter::software {
namespace {

constexpr std::uint64_t kLinkLocalPrefix = 0xfe80000000000000;
constexpr std::uint64_t kFirstGuid = 0x02736f66740000'00;  // locally administered, "soft"

ibv_gid link_local_gid(std::uint32_t device) {
  ibv_gid gid{};
  gid.global.subnet_prefix = htobe64(kLinkLocalPrefix);
  gid.global.interface_id = device_guid(device);
  return gid;
}

ibv_gid mapped(const std::array<std::uint8_t, 4>& ipv4) {
  ibv_gid gid{};
  gid.raw[10] = gid.raw[11] = 0xff;
  std::ranges::copy(ipv4, &gid.raw[kIpv4At]);
  return gid;
}

/// Addresses for documentation (RFC 5737), of two networks.
ibv_gid vlan_gid(std::uint32_t device) {
  return device == 0 ? mapped({198, 51, 100, 2}) : mapped({203, 0, 113, 3});
}

/// fd73:6f66:74::1 is soft0's, ::2 soft1's: unique local addresses (RFC 4193).
ibv_gid ipv6_gid(std::uint32_t device) {
  return {.raw = {0xfd, 0x73, 0x6f, 0x66, 0, 0x74, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                  static_cast<std::uint8_t>(1 + device)}};
}

/// Of the range that cluster networks give to pods: both of one network.
ibv_gid pod_gid(std::uint32_t device) {
  return mapped({10, 244, 7, static_cast<std::uint8_t>(2 + device)});
}

/// Each address is there twice.
std::uint32_t roce_type(std::uint32_t index) {
  return index % 2 == 0 ? IBV_GID_TYPE_ROCE_V1 : IBV_GID_TYPE_ROCE_V2;
}

std::optional<GidEntry> roce_gid(std::uint32_t device, std::uint32_t index) {
  const std::uint32_t type = roce_type(index);
  switch (index / 2) {
    case 0:
      return GidEntry{link_local_gid(device), type};
    case 1:
      return GidEntry{ipv4_gid(device), type};
    case 2:
      return GidEntry{ipv6_gid(device), type};
    default:
      return std::nullopt;
  }
}

/// Networks of 24 bits in IPv4, of 64 in IPv6.
bool share_subnet(const ibv_gid& a, const ibv_gid& b) {
  if (is_ipv4(a) != is_ipv4(b)) return false;
  return std::memcmp(a.raw, b.raw, is_ipv4(a) ? kIpv4At + 3 : 8) == 0;
}

bool has_vlans(std::uint32_t device) {
  return personality(device).addresses == Addresses::roce_vlans;
}

/// Is it the address of another network namespace?
bool elsewhere(std::uint32_t device, const ibv_gid& gid) {
  return personality(device).addresses == Addresses::roce_pods && same_gid(gid, pod_gid(device));
}

}  // namespace

const Personality& personality(std::uint32_t device) {
  return settings().devices[device];
}

std::uint32_t device_count() {
  return settings().count;
}

std::uint64_t device_guid(std::uint32_t device) {
  return htobe64(kFirstGuid + device);
}

std::uint16_t device_lid(std::uint32_t device) {
  return personality(device).infiniband() ? static_cast<std::uint16_t>(1 + device) : 0;
}

bool same_gid(const ibv_gid& a, const ibv_gid& b) {
  return std::memcmp(a.raw, b.raw, sizeof a.raw) == 0;
}

bool is_ipv4(const ibv_gid& gid) {
  constexpr ibv_gid kMapped{.raw = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}};
  return std::memcmp(gid.raw, kMapped.raw, kIpv4At) == 0;
}

/// 127.0.0.2 is soft0's, 127.0.0.3 soft1's: addresses of the loopback interface.
ibv_gid ipv4_gid(std::uint32_t device) {
  return mapped({127, 0, 0, static_cast<std::uint8_t>(2 + device)});
}

std::optional<GidEntry> gid_at(std::uint32_t device, std::uint32_t index) {
  if (!personality(device).has_gids) return std::nullopt;
  switch (personality(device).addresses) {
    case Addresses::roce:
      return roce_gid(device, index);
    case Addresses::roce_vlans:
    case Addresses::roce_pods:
      if (index >= 2) return roce_gid(device, index - 2);
      return GidEntry{has_vlans(device) ? vlan_gid(device) : pod_gid(device), roce_type(index)};
    case Addresses::link_local:
      if (index == 0) return GidEntry{link_local_gid(device), IBV_GID_TYPE_IB};
  }
  return std::nullopt;
}

/// RoCE v2 over IPv4 has its header in the last 20 bytes.
Grh grh_between(std::uint32_t from_device, std::uint32_t to_device) {
  Grh bytes{};
  if (personality(from_device).infiniband()) {
    bytes[0] = 0x60;
    bytes[6] = 0x1b;
    std::ranges::copy(gid_at(from_device, 0)->gid.raw, &bytes[8]);
    std::ranges::copy(gid_at(to_device, 0)->gid.raw, &bytes[24]);
    return bytes;
  }
  bytes[20] = 0x45;
  bytes[28] = 64;  // hops
  bytes[29] = 17;  // UDP
  const ibv_gid from = ipv4_gid(from_device), to = ipv4_gid(to_device);
  std::memcpy(&bytes[32], &from.raw[kIpv4At], 4);
  std::memcpy(&bytes[36], &to.raw[kIpv4At], 4);
  return bytes;
}

/// Of IPv6, or of IPv4 mapped into it (RoCE v2).
bool is_multicast(const ibv_gid& gid) {
  return gid.raw[0] == 0xff || (is_ipv4(gid) && (gid.raw[kIpv4At] & 0xf0) == 0xe0);
}

bool routed(std::uint32_t device, std::uint32_t gid_index, const ibv_gid& to) {
  constexpr ibv_gid kUnknown{};
  const auto from = gid_at(device, gid_index);
  if (from && elsewhere(device, from->gid)) return false;
  if (elsewhere(0, to) || elsewhere(1, to)) return false;
  if (!has_vlans(0) && !has_vlans(1)) return true;
  return !from || same_gid(to, kUnknown) || is_multicast(to) || share_subnet(from->gid, to);
}

std::uint64_t clock_ticks(const Personality& device, std::uint64_t time_ns) {
  constexpr std::uint64_t kPerTick = 1'000'000;  // nanoseconds, of a clock of 1 kHz
  const std::uint64_t ticks =
      time_ns / kPerTick * device.clock_kHz + time_ns % kPerTick * device.clock_kHz / kPerTick;
  return ticks & device.timestamp_mask;
}

}  // namespace rdmameter::software
