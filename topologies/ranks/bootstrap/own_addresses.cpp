// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/bootstrap/own_addresses.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>

#include "core/base/error.h"
#include "core/base/printable.h"

namespace rdmameter {
namespace {

struct FreeAddresses {
  void operator()(ifaddrs* list) const noexcept { freeifaddrs(list); }
};

bool is_link_local(const sockaddr* address) {
  if (address->sa_family != AF_INET6) return false;
  return IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr);
}

/// @return  empty: no IP address
std::string numeric(const sockaddr* address) {
  std::array<char, NI_MAXHOST> text{};
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  if (getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return {};
  return text.data();
}

}  // namespace

std::vector<std::string> own_addresses(const std::string& interface) {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0) return {};
  const std::unique_ptr<ifaddrs, FreeAddresses> list(raw);
  std::vector<std::string> v4, v6;
  std::set<std::string> names;
  for (const ifaddrs* each = list.get(); each != nullptr; each = each->ifa_next) {
    names.insert(each->ifa_name);
    if (each->ifa_addr == nullptr || (each->ifa_flags & IFF_UP) == 0) continue;
    if (interface.empty() ? (each->ifa_flags & IFF_LOOPBACK) != 0 : each->ifa_name != interface)
      continue;
    const int family = each->ifa_addr->sa_family;
    if ((family != AF_INET && family != AF_INET6) || is_link_local(each->ifa_addr)) continue;
    if (std::string text = numeric(each->ifa_addr); !text.empty())
      (family == AF_INET ? v4 : v6).push_back(std::move(text));
  }
  v4.insert(v4.end(), v6.begin(), v6.end());
  if (v4.size() > kMaxOwnAddresses) v4.resize(kMaxOwnAddresses);
  if (!v4.empty() || interface.empty()) return v4;
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + printable(name);
  throw UsageError(fmt::format(
      "--bootstrap-if {}: {}; interfaces here: {}", printable(interface),
      names.contains(interface) ? "it is down, or has no IP address" : "there is no such interface",
      all));
}

}  // namespace rdmameter
