// SPDX-License-Identifier: Apache-2.0
// What do the control groups of this process allow it of verbs objects? (The kernel's rdma
// controller: Documentation/admin-guide/cgroup-v2.rst.)
#pragma once

#include <filesystem>
#include <string>

namespace rdmameter {

/// The limits of this process's control group, or of the nearest one around it that has any:
/// "/sys/fs/cgroup/job/rdma.max: rxe0 hca_handle=max hca_object=100"; empty where none has.
/// @param membership  as the kernel lists it
/// @param root        where the groups are, version 2 or 1
std::string verbs_object_limits(const std::filesystem::path& membership = "/proc/self/cgroup",
                                const std::filesystem::path& root = "/sys/fs/cgroup");

}  // namespace rdmameter
