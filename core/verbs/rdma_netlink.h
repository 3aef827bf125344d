// SPDX-License-Identifier: Apache-2.0
// A socket to the kernel's RDMA subsystem, which answers what `rdma link` and `rdma resource` ask.
#pragma once

#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include <chrono>
#include <memory>

namespace rdmameter {

template <auto Free>
struct FreeBy {
  template <class Object>
  void operator()(Object* object) const noexcept {
    Free(object);
  }
};
using NetlinkSocket = std::unique_ptr<nl_sock, FreeBy<nl_socket_free>>;
using NetlinkMessage = std::unique_ptr<nl_msg, FreeBy<nlmsg_free>>;

/// An answer may take so long: some drivers ask the device.
inline constexpr std::chrono::seconds kNetlinkPatience{2};

/// @return null: the kernel has none
inline NetlinkSocket connect_rdma_netlink() {
  NetlinkSocket socket(nl_socket_alloc());
  if (!socket || nl_connect(socket.get(), NETLINK_RDMA) != 0) return nullptr;
  const timeval patience{kNetlinkPatience.count(), 0};
  setsockopt(nl_socket_get_fd(socket.get()), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return socket;
}

}  // namespace rdmameter
