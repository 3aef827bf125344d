// SPDX-License-Identifier: Apache-2.0
// ibv_create_cq and ibv_destroy_cq, of --depth entries.
#include <fmt/format.h>

#include "core/base/error.h"
#include "core/control/object_call.h"

namespace rdmameter {
namespace {

struct Cqs {
  using Object = Cq;
  static constexpr Verb kMakes = Verb::create_cq;
  static constexpr auto kFree = ibv_destroy_cq;
  static constexpr std::string_view freeing_verb = "ibv_destroy_cq";
  static constexpr std::string_view making_verb() { return "ibv_create_cq"; }

  Cqs(OpenDevice& device, const TestCase& test_case)
      : context(*device.context),
        entries(static_cast<int>(test_case.queues.depth)),
        where(device.port.where()) {}

  ibv_cq* try_to_make() noexcept { return ibv_create_cq(&context, entries, nullptr, nullptr, 0); }
  Cq made() {
    return Cq{check_pointer([this] { return try_to_make(); }, making_verb(), object())};
  }
  std::string object() const { return fmt::format("{} entries on {}", entries, where); }

  ibv_context& context;
  const int entries;
  const std::string where;
};

}  // namespace

std::unique_ptr<ControlCall> make_cq_call(OpenDevice& device, const TestCase& test_case) {
  const std::string where = device.port.where();
  require_objects(test_case, "CQs", device.limits.max_cq, where);
  if (test_case.queues.depth > device.limits.max_cqe)
    throw Unsupported("a CQ of {} entries: {} takes at most {}; use a smaller --depth",
                      test_case.queues.depth, where, device.limits.max_cqe);
  return std::make_unique<ObjectCall<Cqs>>(device, test_case);
}

}  // namespace rdmameter
