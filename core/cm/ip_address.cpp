// SPDX-License-Identifier: Apache-2.0
#include "core/cm/ip_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <net/if.h>
#include <netinet/in.h>

#include <array>
#include <cstring>

#include "core/error.h"

namespace rdmameter {
namespace {

sockaddr_in& v4(sockaddr_storage& storage) {
  return reinterpret_cast<sockaddr_in&>(storage);
}
sockaddr_in6& v6(sockaddr_storage& storage) {
  return reinterpret_cast<sockaddr_in6&>(storage);
}
const sockaddr_in& v4(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in&>(storage);
}
const sockaddr_in6& v6(const sockaddr_storage& storage) {
  return reinterpret_cast<const sockaddr_in6&>(storage);
}

}  // namespace

std::optional<IpAddress> IpAddress::parse(const std::string& text) {
  IpAddress made;
  if (inet_pton(AF_INET, text.c_str(), &v4(made.storage_).sin_addr) == 1)
    made.storage_.ss_family = AF_INET;
  else if (inet_pton(AF_INET6, text.c_str(), &v6(made.storage_).sin6_addr) == 1)
    made.storage_.ss_family = AF_INET6;
  else
    return std::nullopt;
  return made;
}

IpAddress IpAddress::of(const Gid& gid, const std::string& netdev, std::uint16_t port,
                        const std::string& where) {
  if (gid.type != GidType::roce_v2)
    throw Unsupported(fmt::format(
        "rdma_cm goes by IP addresses here, and the GID {} of {} is none ({}): {}",
        gid_text(gid.value), where, gid_type_name(gid.type),
        gid.type == GidType::ib ? "use --connect tcp" : "choose a RoCE v2 one with --gid-index"));
  IpAddress made;
  if (is_ipv4_mapped(gid.value)) {
    made.storage_.ss_family = AF_INET;
    std::memcpy(&v4(made.storage_).sin_addr, gid.value.raw + 12, 4);
    v4(made.storage_).sin_port = htons(port);
    return made;
  }
  made.storage_.ss_family = AF_INET6;
  std::memcpy(&v6(made.storage_).sin6_addr, gid.value.raw, sizeof gid.value.raw);
  v6(made.storage_).sin6_port = htons(port);
  if (is_link_local(gid.value)) v6(made.storage_).sin6_scope_id = if_nametoindex(netdev.c_str());
  return made;
}

socklen_t IpAddress::length() const {
  return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

bool IpAddress::multicast() const {
  return family() == AF_INET ? IN_MULTICAST(ntohl(v4(storage_).sin_addr.s_addr))
                             : IN6_IS_ADDR_MULTICAST(&v6(storage_).sin6_addr);
}

std::string IpAddress::host() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const address = family() == AF_INET
                                  ? static_cast<const void*>(&v4(storage_).sin_addr)
                                  : static_cast<const void*>(&v6(storage_).sin6_addr);
  inet_ntop(family(), address, text.data(), text.size());
  return text.data();
}

std::string IpAddress::text() const {
  const int port = ntohs(family() == AF_INET ? v4(storage_).sin_port : v6(storage_).sin6_port);
  if (port == 0) return host();
  return family() == AF_INET ? fmt::format("{}:{}", host(), port)
                             : fmt::format("[{}]:{}", host(), port);
}

}  // namespace rdmameter
