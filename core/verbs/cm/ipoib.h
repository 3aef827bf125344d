// SPDX-License-Identifier: Apache-2.0
// The IP address by which rdma_cm joins multicast groups on InfiniBand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/verbs/cm/cm_address.h"
#include "core/verbs/gid.h"

namespace rdmameter {

/// The address of the network interface of IPoIB that is on this port and partition: its hardware
/// address ends with the port's GID, its broadcast group's has the P_Key (RFC 4391, 4 and 9.1.1).
/// The kernel joins a group by the parameters of that broadcast group, which an id bound to a GID
/// (AF_IB) does not know: rdma_join_multicast() ends with EADDRNOTAVAIL there (Linux,
/// drivers/infiniband/core/cma.c, cma_join_ib_multicast()).
/// @param pkey   nullopt: the default partition
/// @param where  device/port, for the error's text
/// @throws Unsupported  there is none
CmAddress ipoib_address(const ibv_gid& gid, std::optional<std::uint16_t> pkey,
                        const std::string& where);

}  // namespace rdmameter
