// SPDX-License-Identifier: Apache-2.0
// At which IP addresses can other machines reach this one?
#pragma once

#include <string>
#include <vector>

namespace rdmameter {

/// Numeric, as getaddrinfo() reads them, IPv4 first: those of interfaces that are up, no loopback
/// and no link-local ones; at most kMaxOwnAddresses.
/// @param interface  only of this one, then loopback, too; empty: of all
/// @throws UsageError  there is no such interface, or it has no address
std::vector<std::string> own_addresses(const std::string& interface);

inline constexpr std::size_t kMaxOwnAddresses = 16;

}  // namespace rdmameter
