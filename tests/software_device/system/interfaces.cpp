// SPDX-License-Identifier: Apache-2.0
// The network interfaces of iWARP devices, as libc tells of them: soft0 and soft1, with the IPv4
// address that rdma_cm knows. All others are the machine's.
#include "tests/software_device/system/interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "tests/software_device/device/personality.h"
#include "tests/software_device/system/next_function.h"

namespace rdmameter::software {
namespace {

/// The interfaces of all devices in front of the machine's own; freed together.
struct OwnInterfaces {
  std::array<ifaddrs, kDevices> entries{};
  std::array<std::array<char, IF_NAMESIZE>, kDevices> names{};
  std::array<sockaddr_in, kDevices> addresses{}, masks{};
};

bool is_iwarp(std::uint32_t device) {
  return personality(device).transport == IBV_TRANSPORT_IWARP;
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
    if (!is_iwarp(device)) continue;
    fill(*own, device);
    own->entries[device].ifa_next = first;
    first = &own->entries[device];
  }
  if (first == machines) delete own;
  *list = first;
  return 0;
}

void freeifaddrs(ifaddrs* list) noexcept {
  static auto* const real = next_of<void(ifaddrs*)>("freeifaddrs");
  if (list == nullptr || std::strncmp(list->ifa_name, "soft", 4) != 0) return real(list);
  const std::uint32_t first = is_iwarp(0) ? 0 : 1;
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
