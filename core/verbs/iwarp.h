// SPDX-License-Identifier: Apache-2.0
// iWARP runs over TCP: its ports are reached by the IP addresses of their network interface, and
// its QPs are connected by rdma_cm alone.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

#include "core/verbs/gid.h"

namespace rdmameter {

bool is_iwarp(const ibv_context& context);

/// The addresses of a port's network interface, as GIDs whose index counts them: IPv4 before IPv6,
/// link-local ones last. The interface is the one that the port's GID names (Linux 6.5), else that
/// of `rdma link`, else the only one of the device in sysfs.
std::vector<Gid> iwarp_addresses(ibv_context& context, std::uint8_t port_num);

}  // namespace rdmameter
