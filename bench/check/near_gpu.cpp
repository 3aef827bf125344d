// SPDX-License-Identifier: Apache-2.0
#include "bench/check/near_gpu.h"

#include "core/base/kernel_files.h"
#include "core/doctor/examination.h"
#include "core/verbs/link_rate.h"

namespace rdmameter {

std::string near_gpu(std::string_view device, const std::filesystem::path& sysfs) {
  std::string behind_bridge;
  for (const auto& pci : entries_of(sysfs / "bus/pci/devices")) {
    if (!is_pci_gpu(pci, kNvidia)) continue;
    const std::string bus_id = pci.filename();
    const std::string_view path = pcie_path(bus_id, device, sysfs);
    if (path == "switch") return "cuda:" + bus_id;
    if (path == "root" && behind_bridge.empty()) behind_bridge = "cuda:" + bus_id;
  }
  return behind_bridge;
}

}  // namespace rdmameter
