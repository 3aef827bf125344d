// SPDX-License-Identifier: Apache-2.0
// What lies between two PCI devices of this machine.
#pragma once

#include <filesystem>
#include <string_view>

namespace rdmameter {

/// @param gpu     its bus ID: "0000:17:00.0"
/// @param device  a verbs device
/// @param sysfs   the kernel's
/// @return "switch": a switch or a root port above both; "root": one host bridge; "node": two of
///         one NUMA node; "socket": of different ones; "unknown"
std::string_view pcie_path(std::string_view gpu, std::string_view device,
                           const std::filesystem::path& sysfs = "/sys");

}  // namespace rdmameter
