// SPDX-License-Identifier: Apache-2.0
// ibv_reg_mr and ibv_dereg_mr, over memory that has been touched. Every region covers all of it.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "core/base/error.h"
#include "core/control/control_call.h"
#include "core/verbs/check.h"
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

/// What both have in common.
class MemoryCall : public ControlCall {
 public:
  MemoryCall(OpenDevice& device, const TestCase& test_case)
      : size_bytes_(test_case.size_bytes),
        device_(device.port.device),
        where_(device.port.where()),
        memory_(*device.context, device.limits.max_dm_size_bytes, test_case.size_bytes,
                device.numa_node, test_case.initiator.memory, where_, device.memory,
                test_case.registration.gpu),
        pd_(check_pointer([&] { return ibv_alloc_pd(device.context.get()); }, "ibv_alloc_pd",
                          where_)),
        access_(possible_access(memory_, *pd_, test_case)) {}

  void add_to(nlohmann::ordered_json& row) const override {
    row.update(gpu_facts_of(memory_, device_));
    row["remote_access"] = (access_ & kRemoteAccess) != 0;
  }
  void hold() override { held_.push_back(registered()); }
  std::string object() const override { return fmt::format("{} bytes on {}", size_bytes_, where_); }

 protected:
  std::string_view registering_verb() const noexcept { return memory_.registering_verb(); }
  Mr registered() const { return memory_.register_part(*pd_, 0, size_bytes_, access_); }
  int do_register() noexcept {
    mr_.reset(memory_.try_to_register(*pd_, 0, size_bytes_, access_));
    return mr_ ? 0 : errno_of_null();
  }

 private:
  const std::uint64_t size_bytes_;
  const std::string device_, where_;
  const MessageMemory memory_;
  const Pd pd_;
  const int access_;
  std::vector<Mr> held_;

 protected:
  Mr mr_;  ///< the one of the call
};

class RegMr final : public MemoryCall {
 public:
  using MemoryCall::MemoryCall;
  void prepare() override {}
  int call() noexcept override { return do_register(); }
  void undo() noexcept override { mr_.reset(); }
  std::string_view verb() const noexcept override { return registering_verb(); }
};

class DeregMr final : public MemoryCall {
 public:
  using MemoryCall::MemoryCall;
  void prepare() override { mr_ = registered(); }
  int call() noexcept override { return ibv_dereg_mr(mr_.release()); }
  void undo() noexcept override {}
  std::string_view verb() const noexcept override { return "ibv_dereg_mr"; }
};

}  // namespace

std::unique_ptr<ControlCall> make_memory_call(OpenDevice& device, const TestCase& test_case) {
  const std::string where = device.port.where();
  require_objects(test_case, "memory regions", device.limits.max_mr, where);
  if (test_case.size_bytes > device.limits.max_mr_size_bytes)
    throw Unsupported(fmt::format("a memory region of {} bytes: {} takes at most {}",
                                  test_case.size_bytes, where, device.limits.max_mr_size_bytes));
  require_paging(device.limits, test_case, 0, where);
  if (test_case.verb == Verb::reg_mr) return std::make_unique<RegMr>(device, test_case);
  return std::make_unique<DeregMr>(device, test_case);
}

}  // namespace rdmameter
