// SPDX-License-Identifier: Apache-2.0
// The GPU whose memory a device reaches without the CPU.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace rdmameter {

/// A GPU that CUDA knows by its bus ID, behind the device's switch or, if there is none, behind its
/// host bridge.
/// @param sysfs  the kernel's
/// @return  as --memory takes it: "cuda:0000:17:00.0"; empty: there is none
std::string near_gpu(std::string_view device, const std::filesystem::path& sysfs = "/sys");

}  // namespace rdmameter
