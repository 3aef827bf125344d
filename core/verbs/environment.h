// SPDX-License-Identifier: Apache-2.0
// What one end of a measurement is: host, clock, device. It stands in every result, so that two
// numbers can be told apart by what they were measured on.
#pragma once

#include <compare>
#include <filesystem>
#include <optional>

#include "core/instrument/clock.h"
#include "core/result/json_text.h"
#include "core/verbs/device.h"

namespace rdmameter {

/// What is not known is null in a result, never a made-up value.
template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

/// The device an end measures with, borrowed.
struct DeviceInUse {
  ibv_context& context;
  const PortInfo& port;
  const Gid& gid;  ///< the one chosen
};

/// Where the kernel shows its facts; other trees for tests.
struct KernelTrees {
  std::filesystem::path proc = "/proc";
  std::filesystem::path sysfs = "/sys";
};

/// {"version", "hostname", ..., "clock": {...}, "device": {...}}; what is not known is null. Call
/// it on the measuring thread, once that is pinned: governor and NUMA node are those of the CPU it
/// runs on.
/// @param device  null: there is none ("device": null)
Json environment_json(const ClockChoice& clock, const DeviceInUse* device,
                      const KernelTrees& trees = {});

/// The kernel's driver of a device, "mlx5_core", "rdma_rxe"; nullopt: the kernel does not tell.
std::optional<std::string> device_driver(std::string_view device,
                                         const std::filesystem::path& sysfs = "/sys");

struct RdmaCoreVersion {
  unsigned release = 0, point = 0;
  auto operator<=>(const RdmaCoreVersion&) const = default;
};

/// The rdma-core that libibverbs and its providers are of, 44.1 of libibverbs.so.1.14.44.1;
/// nullopt: no such file is loaded.
std::optional<RdmaCoreVersion> rdma_core_version(const std::filesystem::path& proc = "/proc");

/// Parts of it, apart for tests.
Json host_json(const KernelTrees& trees);
Json clock_json(const ClockChoice& clock);
/// "driver", "numa_node", "pcie_speed", "pcie_width", "pcie_address", "virtual_function" of a device
/// by its name.
Json device_slot_json(std::string_view device, const std::filesystem::path& sysfs);

}  // namespace rdmameter
