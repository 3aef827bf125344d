// SPDX-License-Identifier: Apache-2.0
// ibv_create_cq and ibv_destroy_cq, of --depth entries.
#include <fmt/format.h>

#include <cerrno>
#include <vector>

#include "core/base/error.h"
#include "core/control/control_call.h"
#include "core/verbs/check.h"

namespace rdmameter {
namespace {

class CqCall final : public ControlCall {
 public:
  CqCall(OpenDevice& device, const TestCase& test_case)
      : context_(*device.context),
        creates_(test_case.verb == Verb::create_cq),
        entries_(static_cast<int>(test_case.queues.depth)),
        where_(device.port.where()) {}

  void hold() override { held_.push_back(created()); }
  void prepare() override {
    if (!creates_) cq_ = created();
  }
  int call() noexcept override {
    if (!creates_) return ibv_destroy_cq(cq_.release());
    cq_.reset(ibv_create_cq(&context_, entries_, nullptr, nullptr, 0));
    return cq_ ? 0 : errno_of_null();
  }
  void undo() noexcept override { cq_.reset(); }

  std::string_view verb() const noexcept override {
    return creates_ ? "ibv_create_cq" : "ibv_destroy_cq";
  }
  std::string object() const override { return fmt::format("{} entries on {}", entries_, where_); }

 private:
  Cq created() const {
    return Cq{check_pointer([&] { return ibv_create_cq(&context_, entries_, nullptr, nullptr, 0); },
                            "ibv_create_cq", object())};
  }

  ibv_context& context_;
  const bool creates_;
  const int entries_;
  const std::string where_;
  std::vector<Cq> held_;
  Cq cq_;  ///< the one of the call
};

}  // namespace

std::unique_ptr<ControlCall> make_cq_call(OpenDevice& device, const TestCase& test_case) {
  const std::string where = device.port.where();
  require_objects(test_case, "CQs", device.limits.max_cq, where);
  if (test_case.queues.depth > device.limits.max_cqe)
    throw Unsupported(fmt::format("a CQ of {} entries: {} takes at most {}; use a smaller --depth",
                                  test_case.queues.depth, where, device.limits.max_cqe));
  return std::make_unique<CqCall>(device, test_case);
}

}  // namespace rdmameter
