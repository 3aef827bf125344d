// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/pcie_path.h"

#include <algorithm>
#include <optional>
#include <string>
#include <system_error>

#include "core/base/sysfs.h"

namespace rdmameter {
namespace {

/// From the host bridge on: "pci0000:16/0000:16:01.0/0000:17:00.0"; nothing: it is no PCI device.
std::optional<std::filesystem::path> place_of(const std::filesystem::path& link) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::canonical(link, failed);
  std::filesystem::path place;
  for (const auto& part : whole)
    if (!place.empty() || (part.native().starts_with("pci") && part.native().size() > 3))
      place /= part;
  if (failed || place.empty()) return std::nullopt;
  return place;
}

}  // namespace

std::string_view pcie_path(std::string_view gpu, std::string_view device,
                           const std::filesystem::path& sysfs) {
  const std::filesystem::path of_gpu = sysfs / "bus/pci/devices" / gpu,
                              of_device = sysfs / "class/infiniband" / device / "device";
  const auto one = place_of(of_gpu), other = place_of(of_device);
  if (!one || !other) return "unknown";
  const auto fork = std::ranges::mismatch(*one, *other);
  const auto shared = std::distance(one->begin(), fork.in1);
  if (shared > 1) return "switch";
  if (shared == 1) return "root";
  const auto node = read_line(of_gpu / "numa_node");
  const auto near = read_line(of_device / "numa_node");
  if (!node || !near || *node == "-1" || *near == "-1") return "unknown";
  return *node == *near ? "node" : "socket";
}

}  // namespace rdmameter
