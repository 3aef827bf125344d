// SPDX-License-Identifier: Apache-2.0
// How a client on another machine would name this one.
#pragma once

#include <string>

namespace rdmameter {

/// The host name, where it leads to an address that others can reach; else such an address of an
/// interface that is up, IPv4 before IPv6; "localhost" where there is none.
std::string reachable_name();

}  // namespace rdmameter
