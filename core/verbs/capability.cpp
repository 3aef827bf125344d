// SPDX-License-Identifier: Apache-2.0
#include "core/verbs/capability.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "core/base/error.h"
#include "core/test_case/opcode.h"

namespace rdmameter {
namespace {

/// Linux, include/uapi/rdma/ib_user_verbs.h (6.2): IB_UVERBS_DEVICE_FLUSH_GLOBAL (the bytes are
/// visible to all) and IB_UVERBS_DEVICE_ATOMIC_WRITE. verbs.h has no names for them.
constexpr std::uint64_t kFlushGlobal = std::uint64_t{1} << 38,
                        kAtomicWrite = std::uint64_t{1} << 40;

bool has_flag(const DeviceLimits& limits, std::uint64_t flag) {
  return (limits.attributes.device_cap_flags_ex & flag) != 0;
}
bool has_flag(const DeviceLimits& limits, ibv_device_cap_flags flag) {
  return (limits.attributes.orig_attr.device_cap_flags & flag) != 0;
}

Json atomics_json(const DeviceLimits& limits) {
  switch (limits.attributes.orig_attr.atomic_cap) {
    case IBV_ATOMIC_NONE:
      return "none";
    case IBV_ATOMIC_HCA:
      return "device";  // atomic among this device's QPs
    case IBV_ATOMIC_GLOB:
      return "global";  // with CPUs and other devices too
  }
  return "unknown";
}

/// Operations that on-demand paging covers.
Json odp_operations(std::uint32_t covered) {
  constexpr std::array<std::pair<std::uint32_t, std::string_view>, 5> kNames{
      {{IBV_ODP_SUPPORT_SEND, "send"},
       {IBV_ODP_SUPPORT_RECV, "recv"},
       {IBV_ODP_SUPPORT_WRITE, "write"},
       {IBV_ODP_SUPPORT_READ, "read"},
       {IBV_ODP_SUPPORT_ATOMIC, "atomic"}}};
  Json operations = Json::array();
  for (const auto& [bit, name] : kNames)
    if ((covered & bit) != 0) operations.push_back(name);
  return operations;
}

bool has_odp(const DeviceLimits& limits) {
  return (limits.attributes.odp_caps.general_caps & IBV_ODP_SUPPORT) != 0;
}

Json odp_json(const DeviceLimits& limits) {
  const ibv_odp_caps& odp = limits.attributes.odp_caps;
  return {{"supported", has_odp(limits)},
          {"implicit", (odp.general_caps & IBV_ODP_SUPPORT_IMPLICIT) != 0},
          {"rc", odp_operations(odp.per_transport_caps.rc_odp_caps)},
          {"uc", odp_operations(odp.per_transport_caps.uc_odp_caps)},
          {"ud", odp_operations(odp.per_transport_caps.ud_odp_caps)}};
}

using Limits = DeviceLimits;

constexpr std::array kCapabilities{
    Capability{"atomics", "atomics", "atomic operations",
               [](const Limits& l) { return l.attributes.orig_attr.atomic_cap != IBV_ATOMIC_NONE; },
               atomics_json},
    Capability{"atomic_write", "atomic write", "atomic write",
               [](const Limits& l) { return has_flag(l, kAtomicWrite); }},
    Capability{"flush", "FLUSH", "FLUSH",
               [](const Limits& l) { return has_flag(l, kFlushGlobal); }},
    Capability{"memory_window_1", "memory windows type 1", "memory windows of type 1",
               [](const Limits& l) { return has_flag(l, IBV_DEVICE_MEM_WINDOW); }},
    Capability{"memory_window_2b", "type 2B", "memory windows of type 2",
               [](const Limits& l) { return has_flag(l, IBV_DEVICE_MEM_WINDOW_TYPE_2B); }},
    Capability{"completion_timestamps", "completion timestamps", "completion timestamps",
               [](const Limits& l) { return l.timestamp_mask != 0; }},
    Capability{"device_memory", "device memory", "device memory",
               [](const Limits& l) { return l.max_dm_size_bytes > 0; }},
    Capability{"on_demand_paging", "on-demand paging", "on-demand paging", has_odp, odp_json},
};
static_assert(std::ranges::all_of(kOpcodes,
                                  [](const OpcodeTraits& kind) {
                                    return kind.needs.empty() ||
                                           std::ranges::count(kCapabilities, kind.needs,
                                                              &Capability::key) == 1;
                                  }),
              "an opcode needs what kCapabilities lacks");

const Capability& find_capability(std::string_view key) {
  return *std::ranges::find(kCapabilities, key, &Capability::key);
}

}  // namespace

std::span<const Capability> capabilities() {
  return kCapabilities;
}

Json capability_json(const Capability& capability, const DeviceLimits& limits) {
  return capability.details == nullptr ? Json(capability.in(limits)) : capability.details(limits);
}

bool device_has(const DeviceLimits& limits, std::string_view key) {
  return find_capability(key).in(limits);
}

void require_capability(const DeviceLimits& limits, std::string_view key,
                        const std::string& where) {
  if (!key.empty() && !device_has(limits, key))
    throw Unsupported("{} has no {}", where, find_capability(key).noun);
}

}  // namespace rdmameter
