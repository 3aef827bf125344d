// SPDX-License-Identifier: Apache-2.0
// How fast a port's link is, of what library, kernel and driver say of it, which may differ.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "core/verbs/device.h"

namespace rdmameter {

/// The facts about a port's rate.
struct LinkRateFacts {
  std::uint64_t port_speed_100_mbps = 0;  ///< ibv_query_port_speed(3); 0: not told
  /// Width and speed by the codes of ibv_port_attr. The kernel shows XDR as NDR in `active_speed`,
  /// which had 8 bits (uverbs_std_types_device.c, copy_port_attr_to_resp()).
  std::uint8_t active_width = 0, active_speed = 0;
  std::uint32_t active_speed_ex = 0;  ///< since rdma-core 49; 0: not told
  std::string sysfs_rate;             ///< of ports/N/rate: "400 Gb/sec (4X NDR)"
  std::int64_t netdev_mbps = -1;      ///< of the port's network interface; not above 0: not told
  bool ethernet = false;
  std::uint32_t vendor_id = 0;
  std::string driver;  ///< as sysfs names it; empty: it does not
};

/// @param vendor_id  of the device
LinkRateFacts link_rate_facts(ibv_context& context, const PortInfo& port, std::uint32_t vendor_id,
                              const std::filesystem::path& sysfs = "/sys");

/// The signaling rate of all lanes [Gb/s], as `ibstat` rounds it; nullopt: not told. The first of:
/// port_speed, active_speed_ex, sysfs_rate, netdev_mbps, active_speed. Where the driver may tell a
/// constant (mana, and EFA where it tells 4X EDR) port_speed alone.
std::optional<double> link_rate_gbps(const LinkRateFacts& facts);

// Where PCI devices of this machine are, and what lies between two of them.

/// The address of a verbs device's PCIe function: "0000:1a:00.0"; nothing: the kernel names none.
/// Ports of one adapter are functions of one slot, or of several.
/// @param device  /sys/class/infiniband/NAME
std::optional<std::string> pcie_address(const std::filesystem::path& device);

/// Makers of GPUs whose memory can be measured, as PCI numbers them.
inline constexpr std::string_view kNvidia = "0x10de", kAmd = "0x1002";

/// Is a device (/sys/bus/pci/devices/ID) a GPU of that maker, for display, 3D or processing?
bool is_pci_gpu(const std::filesystem::path& pci, std::string_view maker);

/// @param gpu     its bus ID: "0000:17:00.0"
/// @param device  a verbs device
/// @param sysfs   the kernel's
/// @return "switch": a switch or a root port above both; "root": one host bridge; "node": two of
///         one NUMA node; "socket": of different ones; "unknown"
std::string_view pcie_path(std::string_view gpu, std::string_view device,
                           const std::filesystem::path& sysfs = "/sys");

}  // namespace rdmameter
