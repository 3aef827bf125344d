// SPDX-License-Identifier: Apache-2.0
// What sysfs says of a device: the link that names its driver, and files of its port and slot.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "tests/software_device/device/personality.h"
#include "tests/software_device/device/settings.h"
#include "tests/software_device/system/next_function.h"

using namespace rdmameter::software;

namespace {

using OpenStream = FILE*(const char*, const char*);

struct PlayedFile {
  std::string path;
  std::string_view text;  ///< empty: the machine's own, which is not there
};

std::array<PlayedFile, 6> files_of(std::uint32_t device) {
  const std::string tree = "/sys/class/infiniband/" + settings().names[device];
  const Personality& says = personality(device);
  static const auto kNetdevs = [] {
    std::array<std::string, kDevices> names;
    for (std::uint32_t i = 0; i < kDevices; ++i) names[i] = "netdev-soft" + std::to_string(i);
    return names;
  }();
  const std::string& netdev = kNetdevs[device];
  return {{{tree + "/ports/1/rate", says.sysfs_rate},
           {tree + "/ports/1/gid_attrs/ndevs/0",
            says.netdev_mbps.empty() ? std::string_view() : netdev},
           {"/sys/class/net/" + netdev + "/speed", says.netdev_mbps},
           {tree + "/device/current_link_speed", says.pcie_speed},
           {tree + "/device/current_link_width", says.pcie_width},
           {tree + "/device/uevent", says.pcie_events}}};
}

/// With a descriptor, which std::ifstream reads from.
FILE* file_with(std::string_view text) {
  const int fd = memfd_create("software-sysfs", MFD_CLOEXEC);
  if (fd < 0) return nullptr;
  const auto size = static_cast<ssize_t>(text.size());
  const bool written = write(fd, text.data(), text.size()) == size && lseek(fd, 0, SEEK_SET) == 0;
  return written ? fdopen(fd, "r") : nullptr;
}

FILE* open_stream(OpenStream* real, const char* path, const char* mode) {
  if (std::string_view(path).starts_with("/sys/class/"))
    for (std::uint32_t device = 0; device < kDevices; ++device)
      for (const auto& [played, text] : files_of(device))
        if (played == path && !text.empty()) return file_with(text);
  return real(path, mode);
}

}  // namespace

extern "C" {

ssize_t readlink(const char* path, char* into, std::size_t room) {
  for (std::uint32_t device = 0; device < kDevices; ++device) {
    const std::string slot = "/sys/class/infiniband/" + settings().names[device] + "/device/";
    const Personality& says = personality(device);
    std::string target;
    if (path == slot + "driver" && !says.driver.empty())
      target = "../../../bus/pci/drivers/" + std::string(says.driver);
    if (path == slot + "physfn" && says.virtual_function) target = "../0000:00:00.0";
    if (target.empty()) continue;
    const std::size_t length = std::min(room, target.size());
    std::memcpy(into, target.data(), length);
    return static_cast<ssize_t>(length);
  }
  static auto* const next = next_of<ssize_t(const char*, char*, std::size_t)>("readlink");
  return next(path, into, room);
}

// By their symbols: with large files <cstdio> declares fopen() as fopen64(). std::ifstream calls
// either.
FILE* software_fopen(const char* path, const char* mode) __asm__("fopen");
FILE* software_fopen64(const char* path, const char* mode) __asm__("fopen64");

FILE* software_fopen(const char* path, const char* mode) {
  static auto* const real = next_of<OpenStream>("fopen");
  return open_stream(real, path, mode);
}
FILE* software_fopen64(const char* path, const char* mode) {
  static auto* const real = next_of<OpenStream>("fopen64");
  return open_stream(real, path, mode);
}

}  // extern "C"
