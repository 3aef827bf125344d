// SPDX-License-Identifier: Apache-2.0
// A socket to the kernel's RDMA subsystem, which answers what `rdma link` and `rdma resource` ask.
#pragma once

#include <infiniband/verbs.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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

// What does the kernel say of this process's verbs objects? The same as `rdma resource show` has,
// and /proc/self/status of pinned memory.

/// The number of a device's objects that this process's threads have made: "qps", "cqs", "cqes"
/// (entries of all CQs), "mrs", "mr_bytes", "srqs"; and "pinned_bytes", of the whole process. What
/// this kernel does not tell is absent; empty: it tells nothing of objects. It has the kernel list
/// all objects of the device, of all processes: for after the measured part.
std::vector<std::pair<std::string, std::uint64_t>> kernel_objects(const ibv_context& context);

/// The number of a device's objects that all processes and the kernel have made, by type, as
/// `rdma resource show` has it ("pd", "cq", "qp", "cm_id", "mr"...); empty: the kernel
/// does not tell.
std::vector<std::pair<std::string, std::uint64_t>> device_objects(const ibv_context& context);

/// Memory pinned for devices [B]: what is registered, and queues that the driver keeps in the
/// process's own memory. nullopt: the kernel does not tell.
/// @param proc  the process's folder there
std::optional<std::uint64_t> pinned_bytes(const std::filesystem::path& proc = "/proc/self");

}  // namespace rdmameter
