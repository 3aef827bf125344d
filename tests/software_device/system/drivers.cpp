// SPDX-License-Identifier: Apache-2.0
// The link in sysfs that names a device's driver, for adapters that programs know by that alone.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/software_device/device/personality.h"
#include "tests/software_device/system/next_function.h"

using namespace rdmameter::software;

extern "C" ssize_t readlink(const char* path, char* into, std::size_t room) {
  for (std::uint32_t device = 0; device < kDevices; ++device) {
    const std::string link =
        "/sys/class/infiniband/soft" + std::to_string(device) + "/device/driver";
    if (path != link || personality(device).driver.empty()) continue;
    const std::string target =
        "../../../bus/pci/drivers/" + std::string(personality(device).driver);
    const std::size_t length = std::min(room, target.size());
    std::memcpy(into, target.data(), length);
    return static_cast<ssize_t>(length);
  }
  static auto* const next = next_of<ssize_t(const char*, char*, std::size_t)>("readlink");
  return next(path, into, room);
}
