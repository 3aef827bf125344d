// SPDX-License-Identifier: Apache-2.0
#include "bench/client_address.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <unistd.h>

#include <array>
#include <memory>

namespace rdmameter {
namespace {

/// An address that other machines can use as it stands: no loopback, and no link-local one, which
/// needs the name of an interface that is the client's own.
bool reachable(const sockaddr* address) {
  if (address == nullptr) return false;
  if (address->sa_family == AF_INET) {
    const auto host = ntohl(reinterpret_cast<const sockaddr_in*>(address)->sin_addr.s_addr);
    return host >> 24 != 127 && host >> 16 != 0xa9fe;
  }
  if (address->sa_family != AF_INET6) return false;
  const in6_addr& host = reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr;
  return !IN6_IS_ADDR_LOOPBACK(&host) && !IN6_IS_ADDR_LINKLOCAL(&host);
}

bool leads_here(const char* name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (getaddrinfo(name, nullptr, &hints, &list) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned{list, freeaddrinfo};
  for (const addrinfo* each = list; each != nullptr; each = each->ai_next)
    if (!reachable(each->ai_addr)) return false;  // a client might try just that one
  return true;
}

std::string interface_address() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owned{list, freeifaddrs};
  for (const int family : {AF_INET, AF_INET6}) {
    for (const ifaddrs* each = list; each != nullptr; each = each->ifa_next) {
      if ((each->ifa_flags & IFF_UP) == 0 || !reachable(each->ifa_addr) ||
          each->ifa_addr->sa_family != family)
        continue;
      std::array<char, NI_MAXHOST> host{};
      const socklen_t bytes = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      if (getnameinfo(each->ifa_addr, bytes, host.data(), host.size(), nullptr, 0,
                      NI_NUMERICHOST) == 0)
        return host.data();
    }
  }
  return {};
}

}  // namespace

std::string reachable_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0 && leads_here(name.data())) return name.data();
  const std::string address = interface_address();
  return address.empty() ? "localhost" : address;
}

}  // namespace rdmameter
