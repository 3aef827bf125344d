// SPDX-License-Identifier: Apache-2.0
// ibv_create_qp, ibv_destroy_qp and each step of ibv_modify_qp, a new QP for each call, connected
// to itself.
#include <array>
#include <cerrno>
#include <utility>

#include "core/control/object_call.h"
#include "core/engine/device/device_terms.h"
#include "core/verbs/probe.h"

namespace rdmameter {
namespace {

constexpr std::array kSteps{"ibv_modify_qp(RESET->INIT)", "ibv_modify_qp(INIT->RTR)",
                            "ibv_modify_qp(RTR->RTS)"};

/// Steps that a QP has taken when the verb is called for it.
std::size_t steps_before(Verb verb) {
  return verb == Verb::modify_qp_rtr ? 1 : verb == Verb::modify_qp_rts ? 2 : 0;
}

struct Qps {
  using Object = Qp;
  static constexpr Verb kMakes = Verb::create_qp;
  static constexpr auto kFree = ibv_destroy_qp;
  static constexpr std::string_view freeing_verb = "ibv_destroy_qp";
  static constexpr std::string_view making_verb() { return "ibv_create_qp"; }

  Qps(OpenDevice& opened, const TestCase& asked)
      : device(opened),
        test_case(asked),
        pd(make_pd(device)),
        cq(make_cq(device)),
        attributes(plain_qp(*cq, test_case.transport, test_case.queues.depth,
                            test_case.queues.rx_depth)) {}

  ibv_qp* try_to_make() noexcept {
    ibv_qp_init_attr asked = attributes;  // the verb writes into it
    return ibv_create_qp(pd.get(), &asked);
  }
  Qp made() {
    errno = 0;
    Qp qp{try_to_make()};
    if (!qp) fail_to_make(errno_of_null());
    return qp;
  }
  [[noreturn]] void fail_to_make(int error) const {
    require_transport(device, test_case);
    throw_failure(making_verb(), object(), error);
  }
  std::string object() const { return "QP on " + device.port.where(); }

  const OpenDevice& device;
  const TestCase test_case;
  const Pd pd;
  const Cq cq;
  const ibv_qp_init_attr attributes;
};

class ModifyQp final : public ObjectCall<Qps> {
 public:
  ModifyQp(OpenDevice& device, const TestCase& test_case)
      : ObjectCall(device, test_case),
        path_(path_to_itself(device)),
        before_(steps_before(test_case.verb)) {
    if (test_case.verb != Verb::modify_qp_init) require_connectable(device);
  }

  void hold() override {
    prepare();
    take(before_);
    held_.push_back(std::move(object_));
  }
  void prepare() override {
    ObjectCall::prepare();
    for (std::size_t n = 0; n < before_; ++n) take(n);
    step_ = step(before_);
  }
  int call() noexcept override { return step_.take(*object_); }

 private:
  std::string_view verb() const noexcept override { return kSteps[before_]; }
  /// The n-th step of the way to RTS, for the QP of the call.
  QpStep step(std::size_t n) const {
    const Transport transport = kind_.test_case.transport;
    if (n == 0) return init_step(transport, path_.port_num, 0, IBV_ACCESS_REMOTE_WRITE);
    if (n == 1) return rtr_step(transport, path_, object_->qp_num, 0);
    return rts_step(transport, path_, 0);
  }
  void take(std::size_t n) { check_errno_value(step(n).take(*object_), kSteps[n], kind_.object()); }

  const QpPath path_;
  const std::size_t before_;
  QpStep step_{};
};

}  // namespace

std::unique_ptr<ControlCall> make_qp_call(OpenDevice& device, const TestCase& test_case) {
  const std::string where = device.port.where();
  require_objects(test_case, "QPs", device.limits.max_qp, where);
  require_depths(test_case, device.limits, where);
  if (test_case.verb == Verb::create_qp || test_case.verb == Verb::destroy_qp)
    return std::make_unique<ObjectCall<Qps>>(device, test_case);
  return std::make_unique<ModifyQp>(device, test_case);
}

}  // namespace rdmameter
