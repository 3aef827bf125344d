// SPDX-License-Identifier: Apache-2.0
#include "bench/measurers.h"

#include <utility>

#include "core/clock.h"
#include "core/null_measurer.h"
#include "core/session/initiator.h"
#include "core/session/server.h"

namespace rdmameter {
namespace {

/// A measurer and the responder that it talks to, in this process.
class LoopbackMeasurer final : public Measurer {
 public:
  LoopbackMeasurer(const Case& first, const ClockChoice& clock, const InterruptSource& interrupt)
      : server_(clock, interrupt),
        initiator_(make_initiator({.server = server_.address(), .token = server_.token()}, first,
                                  clock, interrupt)) {}

  Outcome measure(const Case& one_case) override { return initiator_->measure(one_case); }
  bool usable() const override { return initiator_->usable(); }
  nlohmann::ordered_json initiator_environment() const override {
    return initiator_->initiator_environment();
  }
  nlohmann::ordered_json responder_environment() const override {
    return initiator_->responder_environment();
  }

 private:
  LoopbackServer server_;
  std::unique_ptr<Measurer> initiator_;  ///< says bye before the server goes
};

}  // namespace

std::unique_ptr<Measurer> make_measurer(const RunTarget& target, const Case& first,
                                        const ClockChoice& clock, InterruptSource& interrupt) {
  switch (target.kind) {
    case RunTarget::Kind::host:
      return make_initiator({.server = target.server, .token = target.token}, first, clock,
                            interrupt);
    case RunTarget::Kind::loopback:
      return std::make_unique<LoopbackMeasurer>(first, clock, interrupt);
    case RunTarget::Kind::null_device:
      return make_null_measurer(clock, interrupt.word());
  }
  return nullptr;
}

}  // namespace rdmameter
