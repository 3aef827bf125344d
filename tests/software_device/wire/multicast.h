// SPDX-License-Identifier: Apache-2.0
// Which QPs belong to which multicast group.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

namespace rdmameter::software {

/// @return an errno value
int join_group(std::uint32_t qpn, const ibv_gid& group);
int leave_group(std::uint32_t qpn, const ibv_gid& group);
void leave_all_groups(std::uint32_t qpn);

/// The QPs of all processes that belong to the group.
std::vector<std::uint32_t> group_members(const ibv_gid& group);

}  // namespace rdmameter::software
