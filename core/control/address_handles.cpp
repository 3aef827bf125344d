// SPDX-License-Identifier: Apache-2.0
// ibv_create_ah and ibv_destroy_ah, towards the device's own port.
#include <fmt/format.h>

#include <cerrno>
#include <vector>

#include "core/base/error.h"
#include "core/control/control_call.h"
#include "core/verbs/check.h"
#include "core/verbs/probe.h"

namespace rdmameter {
namespace {

class AhCall final : public ControlCall {
 public:
  AhCall(OpenDevice& device, const TestCase& test_case)
      : creates_(test_case.verb == Verb::create_ah),
        attributes_(ah_attributes(path_to_itself(device))),
        where_(device.port.where()),
        pd_(check_pointer([&] { return ibv_alloc_pd(device.context.get()); }, "ibv_alloc_pd",
                          where_)) {}

  void hold() override { held_.push_back(created()); }
  void prepare() override {
    if (!creates_) ah_ = created();
  }
  int call() noexcept override {
    if (!creates_) return ibv_destroy_ah(ah_.release());
    ah_.reset(ibv_create_ah(pd_.get(), &attributes_));
    return ah_ ? 0 : errno_of_null();
  }
  void undo() noexcept override { ah_.reset(); }

  std::string_view verb() const noexcept override {
    return creates_ ? "ibv_create_ah" : "ibv_destroy_ah";
  }
  std::string object() const override { return fmt::format("towards itself on {}", where_); }

 private:
  Ah created() {
    return Ah{check_pointer([&] { return ibv_create_ah(pd_.get(), &attributes_); }, "ibv_create_ah",
                            object())};
  }

  const bool creates_;
  ibv_ah_attr attributes_;
  const std::string where_;
  const Pd pd_;
  std::vector<Ah> held_;
  Ah ah_;  ///< the one of the call
};

}  // namespace

std::unique_ptr<ControlCall> make_ah_call(OpenDevice& device, const TestCase& test_case) {
  // Without UD some providers have no ibv_create_ah() (mana), and some return NULL alone (hns).
  if (lacks_transport(*device.context, Transport::ud))
    throw Unsupported(fmt::format("{} has no QPs of ud, and address handles are for them alone",
                                  device.port.where()));
  require_objects(test_case, "address handles", device.limits.max_ah, device.port.where());
  return std::make_unique<AhCall>(device, test_case);
}

}  // namespace rdmameter
