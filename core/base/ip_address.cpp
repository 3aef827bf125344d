// SPDX-License-Identifier: Apache-2.0
#include "core/base/ip_address.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>

#include <array>
#include <cstring>

namespace rdmameter {

std::optional<IpAddress> IpAddress::parse(const std::string& text) {
  IpAddress address;
  if (inet_pton(AF_INET, text.c_str(), &address.v4_.sin_addr) == 1)
    address.storage_.ss_family = AF_INET;
  else if (inet_pton(AF_INET6, text.c_str(), &address.v6_.sin6_addr) == 1)
    address.storage_.ss_family = AF_INET6;
  else
    return std::nullopt;
  return address;
}

IpAddress IpAddress::of_bytes(std::span<const std::uint8_t, 16> bytes, std::uint16_t port,
                              std::uint32_t scope_id) {
  IpAddress address;
  in6_addr v6_bytes;
  std::memcpy(&v6_bytes, bytes.data(), sizeof v6_bytes);
  if (IN6_IS_ADDR_V4MAPPED(&v6_bytes)) {
    address.storage_.ss_family = AF_INET;
    std::memcpy(&address.v4_.sin_addr, bytes.data() + 12, 4);
    address.v4_.sin_port = htons(port);
    return address;
  }
  address.storage_.ss_family = AF_INET6;
  address.v6_.sin6_addr = v6_bytes;
  address.v6_.sin6_port = htons(port);
  address.v6_.sin6_scope_id = scope_id;
  return address;
}

socklen_t IpAddress::length() const {
  return family() == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
}

std::uint16_t IpAddress::port() const {
  return ntohs(family() == AF_INET ? v4_.sin_port : v6_.sin6_port);
}

bool IpAddress::multicast() const {
  return family() == AF_INET ? IN_MULTICAST(ntohl(v4_.sin_addr.s_addr))
                             : IN6_IS_ADDR_MULTICAST(&v6_.sin6_addr);
}

bool IpAddress::loopback() const {
  return family() == AF_INET ? ntohl(v4_.sin_addr.s_addr) >> 24 == 127
                             : family() == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6_.sin6_addr);
}

bool IpAddress::link_local() const {
  return family() == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6_.sin6_addr);
}

std::string IpAddress::host() const {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const void* const address = family() == AF_INET ? static_cast<const void*>(&v4_.sin_addr)
                                                  : static_cast<const void*>(&v6_.sin6_addr);
  inet_ntop(family(), address, text.data(), text.size());
  return text.data();
}

std::string IpAddress::text() const {
  if (port() == 0) return host();
  return family() == AF_INET ? fmt::format("{}:{}", host(), port())
                             : fmt::format("[{}]:{}", host(), port());
}

std::string_view source_of(std::string_view peer) noexcept {
  const std::size_t colon = peer.rfind(':');
  const bool port = colon != std::string_view::npos && colon + 1 < peer.size() &&
                    peer.find_first_not_of("0123456789", colon + 1) == std::string_view::npos;
  return port ? peer.substr(0, colon) : peer;
}

}  // namespace rdmameter
