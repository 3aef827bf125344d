// SPDX-License-Identifier: Apache-2.0
// GIDs as the IP addresses that rdma_cm goes by.
#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/gid.h"

namespace rdmameter {

/// An IPv4 or IPv6 address and a port, as rdma_cm takes them.
class IpAddress {
 public:
  /// @param text  "239.255.0.1", "ff15::1": nothing with a scope
  /// @return nullopt when it is none
  static std::optional<IpAddress> parse(const std::string& text);

  /// The address that a RoCE v2 GID is.
  /// @param netdev  whose link a link-local one means
  /// @param where   device/port, for the error's text
  /// @throws Unsupported  the GID is of InfiniBand or RoCE v1: not an IP address
  static IpAddress of(const Gid& gid, const std::string& netdev, std::uint16_t port,
                      const std::string& where);

  /// rdma_cm's functions take it so, and leave it alone.
  sockaddr* get() const {
    return const_cast<sockaddr*>(reinterpret_cast<const sockaddr*>(&storage_));
  }
  int family() const { return storage_.ss_family; }
  socklen_t length() const;
  bool multicast() const;
  /// "10.9.0.1", "fd00:9::1"
  std::string host() const;
  /// "10.9.0.1:18515", "[fd00:9::1]:18515"; without the port where that is 0
  std::string text() const;

 private:
  sockaddr_storage storage_{};
};

}  // namespace rdmameter
