// SPDX-License-Identifier: Apache-2.0
// The network interfaces of iWARP devices, of IPoIB and of pods, as libc tells of them: soft0 and
// soft1, with the IPv4 address that rdma_cm knows. All others are the machine's.
#include "tests/software_device/system/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <netinet/in.h>
#include <netpacket/packet.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <tuple>

#include "tests/software_device/device/personality.h"
#include "tests/software_device/system/next_function.h"

namespace rdmameter::software {
namespace {

/// As glibc's getifaddrs() has it for addresses that are longer than sockaddr_ll's.
struct HardwareAddress {
  sockaddr_ll base;
  std::array<std::uint8_t, 16> more;
};

constexpr std::size_t kPkeys = std::tuple_size_v<decltype(Personality::pkeys)>;

/// The interfaces of all devices in front of the machine's own; freed together.
struct OwnInterfaces {
  std::array<ifaddrs, kDevices> entries{};
  /// Of IPoIB: one for each partition, all with the name of the only one that has an address.
  std::array<std::array<ifaddrs, kPkeys>, kDevices> links{};
  std::array<std::array<HardwareAddress, kPkeys>, kDevices> broadcasts{};
  std::array<HardwareAddress, kDevices> hardware{};
  std::array<std::array<char, IF_NAMESIZE>, kDevices> names{};
  std::array<sockaddr_in, kDevices> addresses{}, masks{};
};

bool has_interface(std::uint32_t device) {
  return device < device_count() && personality(device).own_interface();
}

/// Twenty bytes of IPoIB: four of the QP, or of the broadcast group, and a GID (RFC 4391, 9.1.1).
HardwareAddress hardware_address(std::uint32_t first, const ibv_gid& gid) {
  constexpr std::uint8_t kBytes = 20;
  HardwareAddress made{};
  made.base.sll_family = AF_PACKET;
  made.base.sll_hatype = ARPHRD_INFINIBAND;
  made.base.sll_halen = kBytes;
  auto* const bytes = reinterpret_cast<std::uint8_t*>(&made) + offsetof(sockaddr_ll, sll_addr);
  first = htonl(first);
  std::memcpy(bytes, &first, sizeof first);
  std::memcpy(bytes + sizeof first, gid.raw, sizeof gid.raw);
  return made;
}

/// The broadcast group of a partition: its P_Key is in the middle.
ibv_gid broadcast_gid(std::uint16_t pkey) {
  ibv_gid made{.raw = {0xff, 0x12, 0x40, 0x1b}};
  made.raw[4] = static_cast<std::uint8_t>(pkey >> 8);
  made.raw[5] = static_cast<std::uint8_t>(pkey);
  std::fill_n(&made.raw[12], 4, std::uint8_t{0xff});
  return made;
}

void fill_links(OwnInterfaces& own, std::uint32_t device) {
  constexpr std::uint32_t kQp = 0x80000048, kBroadcast = 0x00ffffff;
  own.hardware[device] = hardware_address(kQp, gid_at(device, 0)->gid);
  for (std::size_t i = 0; i < kPkeys; ++i) {
    HardwareAddress& broadcast = own.broadcasts[device][i];
    broadcast = hardware_address(kBroadcast, broadcast_gid(personality(device).pkeys[i]));
    ifaddrs& link = own.links[device][i];
    link.ifa_name = own.names[device].data();
    link.ifa_flags = IFF_UP | IFF_RUNNING | IFF_BROADCAST | IFF_MULTICAST;
    link.ifa_addr = reinterpret_cast<sockaddr*>(&own.hardware[device]);
    link.ifa_broadaddr = reinterpret_cast<sockaddr*>(&broadcast);
    link.ifa_next = own.entries[device].ifa_next;
    own.entries[device].ifa_next = &link;
  }
}

void fill(OwnInterfaces& own, std::uint32_t device) {
  constexpr std::uint32_t kMask = 0xffffff00;
  std::snprintf(own.names[device].data(), IF_NAMESIZE, "soft%u", device);
  own.addresses[device].sin_family = own.masks[device].sin_family = AF_INET;
  const ibv_gid address = ipv4_gid(device);
  std::memcpy(&own.addresses[device].sin_addr, &address.raw[12], 4);
  own.masks[device].sin_addr.s_addr = htonl(kMask);
  ifaddrs& entry = own.entries[device];
  entry.ifa_name = own.names[device].data();
  entry.ifa_flags = IFF_UP | IFF_RUNNING;
  entry.ifa_addr = reinterpret_cast<sockaddr*>(&own.addresses[device]);
  entry.ifa_netmask = reinterpret_cast<sockaddr*>(&own.masks[device]);
}

}  // namespace
}  // namespace rdmameter::software

using namespace rdmameter::software;

extern "C" {

int getifaddrs(ifaddrs** list) noexcept {
  static auto* const real = next_of<int(ifaddrs**)>("getifaddrs");
  ifaddrs* machines = nullptr;
  if (real(&machines) != 0) return -1;
  auto* const own = new OwnInterfaces;
  ifaddrs* first = machines;
  for (std::uint32_t device = kDevices; device-- > 0;) {
    if (!has_interface(device)) continue;
    fill(*own, device);
    own->entries[device].ifa_next = first;
    first = &own->entries[device];
    if (personality(device).ipoib && personality(device).has_gids) fill_links(*own, device);
  }
  if (first == machines) delete own;
  *list = first;
  return 0;
}

void freeifaddrs(ifaddrs* list) noexcept {
  static auto* const real = next_of<void(ifaddrs*)>("freeifaddrs");
  if (list == nullptr || std::strncmp(list->ifa_name, "soft", 4) != 0) return real(list);
  const std::uint32_t first = has_interface(0) ? 0 : 1;
  auto* const own = reinterpret_cast<OwnInterfaces*>(list - first);
  ifaddrs* machines = list;
  while (machines != nullptr && std::strncmp(machines->ifa_name, "soft", 4) == 0)
    machines = machines->ifa_next;
  delete own;
  if (machines != nullptr) real(machines);
}

char* if_indextoname(unsigned index, char* name) noexcept {
  static auto* const real = next_of<char*(unsigned, char*)>("if_indextoname");
  if (index < kFirstInterface || index >= kFirstInterface + kDevices) return real(index, name);
  std::snprintf(name, IF_NAMESIZE, "soft%u", index - kFirstInterface);
  return name;
}

}  // extern "C"
