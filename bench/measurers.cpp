// SPDX-License-Identifier: Apache-2.0
#include "bench/measurers.h"

#include <algorithm>
#include <utility>

#include "bench/failed_measurer.h"
#include "bench/interval_line.h"
#include "core/clock.h"
#include "core/control/control_measurer.h"
#include "core/error.h"
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
        initiator_(make_initiator(
            {.server = server_.address(), .token = server_.token(), .on_interval = print_interval},
            first, clock, interrupt)) {}

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

/// Each case by what its pattern asks for.
class MeasurerByPattern final : public Measurer {
 public:
  MeasurerByPattern(std::unique_ptr<Measurer> traffic, std::unique_ptr<Measurer> control)
      : traffic_(std::move(traffic)), control_(std::move(control)) {}

  Outcome measure(const Case& one_case) override {
    return (one_case.needs_responder() ? traffic_ : control_)->measure(one_case);
  }
  bool usable() const override { return traffic_->usable(); }
  nlohmann::ordered_json initiator_environment() const override {
    return traffic_->initiator_environment();
  }
  nlohmann::ordered_json responder_environment() const override {
    return traffic_->responder_environment();
  }

 private:
  std::unique_ptr<Measurer> traffic_, control_;
};

/// The first case of a kind that is to be tried; null: there is none.
template <class IsOne>
const Case* first_of(std::span<const PlannedCase> cases, IsOne is_one) {
  const auto found = std::ranges::find_if(cases, [&](const PlannedCase& planned) {
    return planned.why_skipped.empty() && is_one(planned.one_case);
  });
  return found == cases.end() ? nullptr : &found->one_case;
}

/// Cases over TCP need no device: they are measured without one.
std::unique_ptr<Measurer> make_traffic_measurer(const RunTarget& target,
                                                std::span<const PlannedCase> cases,
                                                const Case& first, const ClockChoice& clock,
                                                InterruptSource& interrupt) {
  const auto open = [&](const Case& one_case) -> std::unique_ptr<Measurer> {
    if (target.kind == RunTarget::Kind::loopback)
      return std::make_unique<LoopbackMeasurer>(one_case, clock, interrupt);
    return make_initiator(
        {.server = target.server, .token = target.token, .on_interval = print_interval}, one_case,
        clock, interrupt);
  };
  try {
    return open(first);
  } catch (const NoDevice&) {
    const Case* const without = first_of(cases, [](const Case& c) { return c.over_tcp(); });
    if (without == nullptr) throw;
    return open(*without);
  }
}

/// Without a device its cases fail one by one, so that those of traffic can be tried beside them.
std::unique_ptr<Measurer> try_control_measurer(const Case& first, const ClockChoice& clock,
                                               InterruptSource& interrupt) {
  try {
    return make_control_measurer(first, clock, interrupt.word(), print_interval);
  } catch (const NoDevice&) {
    return std::make_unique<FailedMeasurer>(std::current_exception());
  }
}

}  // namespace

std::unique_ptr<Measurer> make_measurer(const RunTarget& target, std::span<const PlannedCase> cases,
                                        const ClockChoice& clock, InterruptSource& interrupt) {
  if (target.kind == RunTarget::Kind::null_device)
    return make_null_measurer(clock, interrupt.word(), print_interval);
  const Case* const control = first_of(cases, [](const Case& c) { return !c.needs_responder(); });
  const Case* const traffic = first_of(cases, [](const Case& c) { return c.needs_responder(); });
  if (traffic == nullptr)
    return make_control_measurer(*control, clock, interrupt.word(), print_interval);
  auto made = make_traffic_measurer(target, cases, *traffic, clock, interrupt);
  if (control == nullptr) return made;
  return std::make_unique<MeasurerByPattern>(std::move(made),
                                             try_control_measurer(*control, clock, interrupt));
}

}  // namespace rdmameter
