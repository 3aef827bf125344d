// SPDX-License-Identifier: Apache-2.0
// IP addresses: those that rdma_cm goes by, and those of peers.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rdmameter {

/// An IPv4 or IPv6 address and a port, as rdma_cm takes them.
class IpAddress {
 public:
  /// @param text  "239.255.0.1", "ff15::1": nothing with a scope
  /// @return nullopt when it is none
  static std::optional<IpAddress> parse(const std::string& text);

  /// The address of these 16 bytes; an IPv4-mapped one (its first ten bytes zero, then two of 0xff)
  /// becomes IPv4.
  /// @param scope_id  index of the interface that a link-local address belongs to; 0: none
  static IpAddress of_bytes(std::span<const std::uint8_t, 16> bytes, std::uint16_t port,
                            std::uint32_t scope_id);

  IpAddress() = default;
  /// @param storage  of a socket; of another family it is no loopback address
  explicit IpAddress(const sockaddr_storage& storage) : storage_(storage) {}

  /// rdma_cm's functions take it so, and leave it alone.
  sockaddr* get() const {
    return const_cast<sockaddr*>(reinterpret_cast<const sockaddr*>(&storage_));
  }
  int family() const { return storage_.ss_family; }
  socklen_t length() const;
  std::uint16_t port() const;
  bool multicast() const;
  bool loopback() const;
  /// An IPv6 address that each interface of a machine may have: it means nothing without one.
  bool link_local() const;
  /// "10.9.0.1", "fd00:9::1"
  std::string host() const;
  /// "10.9.0.1:18515", "[fd00:9::1]:18515"; without the port where that is 0
  std::string text() const;

 private:
  union {
    sockaddr_storage storage_{};
    sockaddr_in v4_;
    sockaddr_in6 v6_;
  };
};

/// "fe80::1" of "fe80::1%eth0"
inline std::string without_scope(std::string_view text) {
  return std::string(text.substr(0, text.find('%')));
}

/// "192.0.2.1" of "192.0.2.1:4711": a peer that connects anew is the same source.
std::string_view source_of(std::string_view peer) noexcept;

}  // namespace rdmameter
