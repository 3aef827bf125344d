// SPDX-License-Identifier: Apache-2.0
#include "tests/software_device/wire/multicast.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <span>

#include "tests/software_device/segment/tables.h"

namespace rdmameter::software {
namespace {

/// With their lock held.
std::span<Membership> memberships() {
  return std::span(tables().memberships).first(tables().membership_count);
}

bool is_of(const Membership& entry, const ibv_gid& group) {
  return std::memcmp(entry.group.data(), group.raw, sizeof group.raw) == 0;
}

Membership* take_membership() {
  for (Membership& entry : memberships())
    if (entry.qpn == 0) return &entry;
  if (tables().membership_count == kMemberships) return nullptr;
  return &tables().memberships[tables().membership_count++];
}

}  // namespace

int join_group(std::uint32_t qpn, const ibv_gid& group) {
  const std::lock_guard locked(tables().memberships_lock);
  Membership* const entry = take_membership();
  if (entry == nullptr) return ENOMEM;
  entry->qpn = qpn;
  std::memcpy(entry->group.data(), group.raw, sizeof group.raw);
  return 0;
}

int leave_group(std::uint32_t qpn, const ibv_gid& group) {
  const std::lock_guard locked(tables().memberships_lock);
  const auto found = std::ranges::find_if(memberships(), [&](const Membership& entry) {
    return entry.qpn == qpn && is_of(entry, group);
  });
  if (found == memberships().end()) return EINVAL;
  found->qpn = 0;
  return 0;
}

void leave_all_groups(std::uint32_t qpn) {
  const std::lock_guard locked(tables().memberships_lock);
  for (Membership& entry : memberships())
    if (entry.qpn == qpn) entry.qpn = 0;
}

std::vector<std::uint32_t> group_members(const ibv_gid& group) {
  const std::lock_guard locked(tables().memberships_lock);
  std::vector<std::uint32_t> members;
  for (const Membership& entry : memberships())
    if (entry.qpn != 0 && is_of(entry, group)) members.push_back(entry.qpn);
  return members;
}

}  // namespace rdmameter::software
