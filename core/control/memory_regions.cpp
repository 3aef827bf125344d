// SPDX-License-Identifier: Apache-2.0
// ibv_reg_mr and ibv_dereg_mr, over memory that has been touched. Every region covers all of it.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>

#include "core/base/error.h"
#include "core/control/object_call.h"
#include "core/verbs/memory/memory.h"

namespace rdmameter {
namespace {

constexpr int kRemoteAccess = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

/// What a region can be registered for: for writes and reads of peers, or for this end alone where
/// the device opens no memory to peers (EFA). @throws Unsupported, VerbsError  for neither
int possible_access(const MessageMemory& memory, ibv_pd& pd, const TestCase& test_case) {
  constexpr std::uint64_t kTried = 4096;
  const auto length = static_cast<std::size_t>(std::min(test_case.size_bytes, kTried));
  const int open = memory_access(test_case, kRemoteAccess);
  errno = 0;
  const Mr tried{memory.try_to_register(pd, 0, length, open)};
  if (tried || (!is_unsupported(errno) && memory.gpu() == nullptr)) return open;
  const int local = memory_access(test_case, 0);
  memory.register_part(pd, 0, length, local);
  return local;
}

struct Regions {
  using Object = Mr;
  static constexpr Verb kMakes = Verb::reg_mr;
  static constexpr auto kFree = ibv_dereg_mr;
  static constexpr std::string_view freeing_verb = "ibv_dereg_mr";

  Regions(OpenDevice& device, const TestCase& test_case)
      : size_bytes(test_case.size_bytes),
        device_name(device.port.device),
        where(device.port.where()),
        memory(*device.context, device.limits.max_dm_size_bytes, test_case.size_bytes,
               device.numa_node, test_case.initiator.memory, where, device.memory,
               test_case.registration.gpu),
        pd(make_pd(device)),
        access(possible_access(memory, *pd, test_case)) {}

  ibv_mr* try_to_make() noexcept { return memory.try_to_register(*pd, 0, size_bytes, access); }
  Mr made() const { return memory.register_part(*pd, 0, size_bytes, access); }
  std::string object() const { return fmt::format("{} bytes on {}", size_bytes, where); }
  /// Of a GPU's memory it changes when the kernel refuses the first way.
  std::string_view making_verb() const noexcept { return memory.registering_verb(); }
  void add_to(Json& row) const {
    row.update(gpu_facts_of(memory, device_name));
    row["remote_access"] = (access & kRemoteAccess) != 0;
  }

  const std::uint64_t size_bytes;
  const std::string device_name, where;
  const MessageMemory memory;
  const Pd pd;
  const int access;
};

}  // namespace

std::unique_ptr<ControlCall> make_memory_call(OpenDevice& device, const TestCase& test_case) {
  const std::string where = device.port.where();
  require_objects(test_case, "memory regions", device.limits.max_mr, where);
  if (test_case.size_bytes > device.limits.max_mr_size_bytes)
    throw Unsupported("a memory region of {} bytes: {} takes at most {}", test_case.size_bytes,
                      where, device.limits.max_mr_size_bytes);
  require_paging(device.limits, test_case, 0, where);
  return std::make_unique<ObjectCall<Regions>>(device, test_case);
}

}  // namespace rdmameter
