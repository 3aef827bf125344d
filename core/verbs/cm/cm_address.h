// SPDX-License-Identifier: Apache-2.0
// What rdma_cm knows a port by: an IP address (RoCE v2, iWARP), or on InfiniBand its GID (AF_IB),
// for which neither IPoIB nor an address of it need be set up.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <optional>
#include <string>

#include "core/base/ip_address.h"
#include "core/test_case/test_case.h"
#include "core/verbs/gid.h"

namespace rdmameter {

/// Connected QPs' are as those of TCP, datagrams' as those of UDP.
rdma_port_space port_space(Transport transport);

class CmAddress {
 public:
  CmAddress() = default;
  explicit CmAddress(const IpAddress& address);
  /// @param pkey  by value: of the partition that its paths are of
  /// @param port  0: the kernel chooses one
  static CmAddress of_infiniband(const ibv_gid& gid, rdma_port_space space, std::uint16_t pkey,
                                 std::uint16_t port);

  /// rdma_cm's functions take it so, and leave it alone.
  sockaddr* get() const {
    return const_cast<sockaddr*>(reinterpret_cast<const sockaddr*>(&storage_));
  }
  int family() const { return storage_.ss_family; }
  bool infiniband() const { return family() == AF_IB; }
  socklen_t length() const;
  /// "10.9.0.1", "fd00:9::1", of InfiniBand the GID
  std::string host() const { return host_; }
  /// The address with its port, if there is one: "10.9.0.1:18515", "[fd00:9::1]:18515"
  std::string text() const { return text_; }

 private:
  sockaddr_storage storage_{};
  std::string host_, text_;
};

/// The parts of an address beside the GID.
struct CmAddressTerms {
  Transport transport = Transport::rc;
  std::uint16_t port = 0;
  std::optional<std::uint16_t> pkey;  ///< InfiniBand; nullopt: the default partition
  std::string netdev;                 ///< whose link a link-local IP address means
};

/// The address of a port's GID.
/// @param link_layer  IBV_LINK_LAYER_*
/// @param where       device/port, for the error's text
/// @throws Unsupported  rdma_cm does not know the port by it (RoCE v1, no InfiniBand and no RoCE)
CmAddress cm_address_of(const Gid& gid, int link_layer, const CmAddressTerms& terms,
                        const std::string& where);

/// A multicast group's address for this end. On InfiniBand an IPv4 group is the MGID that rdma_cm
/// makes of it over IPoIB (RFC 4391, with a signature of its own), an IPv6 group is the MGID.
/// @param link_layer  of the end, IBV_LINK_LAYER_*
CmAddress group_address(const IpAddress& group, int link_layer, std::optional<std::uint16_t> pkey);

// The IP address by which rdma_cm joins multicast groups on InfiniBand.

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
