// SPDX-License-Identifier: Apache-2.0
// ibv_create_qp, ibv_destroy_qp and each step of ibv_modify_qp, a new QP for each call, connected
// to itself.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <vector>

#include "core/base/error.h"
#include "core/control/control_call.h"
#include "core/engine/device/device_terms.h"
#include "core/verbs/check.h"
#include "core/verbs/probe.h"

namespace rdmameter {
namespace {

constexpr std::array kSteps{"ibv_modify_qp(RESET->INIT)", "ibv_modify_qp(INIT->RTR)",
                            "ibv_modify_qp(RTR->RTS)"};

/// Steps that a QP has taken when the verb is called for it.
std::size_t steps_before(Verb verb) {
  return verb == Verb::modify_qp_rtr ? 1 : verb == Verb::modify_qp_rts ? 2 : 0;
}

/// What all of them have in common.
class QpCall : public ControlCall {
 public:
  QpCall(OpenDevice& device, const TestCase& test_case)
      : device_(device),
        case_(test_case),
        path_(path_to_itself(device)),
        where_(device.port.where()),
        pd_(check_pointer([&] { return ibv_alloc_pd(device.context.get()); }, "ibv_alloc_pd",
                          where_)),
        cq_(check_pointer(
            [&] { return ibv_create_cq(device.context.get(), 1, nullptr, nullptr, 0); },
            "ibv_create_cq", where_)),
        attributes_(plain_qp(*cq_, case_.transport, case_.queues.depth, case_.queues.rx_depth)) {}

  std::string object() const override { return "QP on " + where_; }

 protected:
  int do_create() noexcept {
    ibv_qp_init_attr attributes = attributes_;  // the verb writes into it
    qp_.reset(ibv_create_qp(pd_.get(), &attributes));
    return qp_ ? 0 : errno_of_null();
  }
  [[noreturn]] void fail_to_create(int error) const {
    require_transport(device_, case_);
    throw_failure("ibv_create_qp", object(), error);
  }
  void create() {
    errno = 0;
    if (const int error = do_create(); error != 0) fail_to_create(error);
  }
  void keep() { held_.push_back(std::move(qp_)); }

  /// The n-th step of the way to RTS, for the QP of the call.
  QpStep step(std::size_t n) const {
    if (n == 0) return init_step(case_.transport, path_.port_num, 0, IBV_ACCESS_REMOTE_WRITE);
    if (n == 1) return rtr_step(case_.transport, path_, qp_->qp_num, 0);
    return rts_step(case_.transport, path_, 0);
  }
  void take(std::size_t n) { check_errno_value(step(n).take(*qp_), kSteps[n], object()); }

 private:
  const OpenDevice& device_;
  const TestCase case_;
  const QpPath path_;
  const std::string where_;
  const Pd pd_;
  const Cq cq_;
  const ibv_qp_init_attr attributes_;
  std::vector<Qp> held_;

 protected:
  Qp qp_;  ///< the one of the call
};

class CreateQp final : public QpCall {
 public:
  using QpCall::QpCall;
  void hold() override {
    create();
    keep();
  }
  void prepare() override {}
  int call() noexcept override { return do_create(); }
  [[noreturn]] void fail(int error) const override { fail_to_create(error); }
  void undo() noexcept override { qp_.reset(); }
  std::string_view verb() const noexcept override { return "ibv_create_qp"; }
};

class DestroyQp final : public QpCall {
 public:
  using QpCall::QpCall;
  void hold() override {
    create();
    keep();
  }
  void prepare() override { create(); }
  int call() noexcept override { return ibv_destroy_qp(qp_.release()); }
  void undo() noexcept override {}
  std::string_view verb() const noexcept override { return "ibv_destroy_qp"; }
};

class ModifyQp final : public QpCall {
 public:
  ModifyQp(OpenDevice& device, const TestCase& test_case)
      : QpCall(device, test_case), before_(steps_before(test_case.verb)) {
    if (test_case.verb != Verb::modify_qp_init) require_connectable(device);
  }

  void hold() override {
    prepare();
    take(before_);
    keep();
  }
  void prepare() override {
    create();
    for (std::size_t n = 0; n < before_; ++n) take(n);
    step_ = step(before_);
  }
  int call() noexcept override { return step_.take(*qp_); }
  void undo() noexcept override { qp_.reset(); }
  std::string_view verb() const noexcept override { return kSteps[before_]; }

 private:
  const std::size_t before_;
  QpStep step_{};
};

}  // namespace

std::unique_ptr<ControlCall> make_qp_call(OpenDevice& device, const TestCase& test_case) {
  const std::string where = device.port.where();
  require_objects(test_case, "QPs", device.limits.max_qp, where);
  require_depths(test_case, device.limits, where);
  if (test_case.verb == Verb::create_qp) return std::make_unique<CreateQp>(device, test_case);
  if (test_case.verb == Verb::destroy_qp) return std::make_unique<DestroyQp>(device, test_case);
  return std::make_unique<ModifyQp>(device, test_case);
}

}  // namespace rdmameter
