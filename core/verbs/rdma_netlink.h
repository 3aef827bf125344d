// SPDX-License-Identifier: Apache-2.0
// What the kernel's RDMA subsystem tells over netlink, as `rdma link` and `rdma resource` ask it, and
// /proc/self/status of pinned memory.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rdmameter {

/// The network interface of a port, as `rdma link` shows it (Linux 4.17); empty: not known.
std::string netdev_of_link(const ibv_context& context, std::uint8_t port_num);

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
