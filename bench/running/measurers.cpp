// SPDX-License-Identifier: Apache-2.0
#include "bench/running/measurers.h"

#include <algorithm>
#include <utility>

#include "bench/background/background_measurer.h"
#include "bench/running/runner.h"
#include "core/base/error.h"
#include "core/control/control_measurer.h"
#include "core/engine/null/null_measurer.h"
#include "core/engine/search/sweep_measurer.h"
#include "core/server/server.h"

namespace rdmameter {
namespace {

SessionOptions with_server(SessionOptions session, const LoopbackServer& server) {
  session.server = server.address();
  session.token = server.token();
  return session;
}

/// A measurer and the responder that it talks to, in this process.
class LoopbackMeasurer final : public Measurer {
 public:
  LoopbackMeasurer(const TestCase& first, const RunTarget& target, const ClockChoice& clock,
                   const InterruptSource& interrupt)
      : server_(clock, interrupt),
        initiator_(make_initiator(with_server(target.session, server_), first, clock, interrupt)) {}

  Outcome measure(const TestCase& test_case) override { return initiator_->measure(test_case); }
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
class MeasurerByPattern final : public MeasurerOver {
 public:
  MeasurerByPattern(std::unique_ptr<Measurer> traffic, std::unique_ptr<Measurer> control)
      : MeasurerOver(*traffic), traffic_(std::move(traffic)), control_(std::move(control)) {}

  Outcome measure(const TestCase& test_case) override {
    return (test_case.needs_responder() ? traffic_ : control_)->measure(test_case);
  }

 private:
  std::unique_ptr<Measurer> traffic_, control_;
};

/// The first case of a kind that is to be tried; null: there is none.
template <class IsOne>
const TestCase* first_of(std::span<const PlannedCase> cases, IsOne is_one) {
  const auto found = std::ranges::find_if(cases, [&](const PlannedCase& planned) {
    return planned.why_skipped.empty() && is_one(planned.test_case);
  });
  return found == cases.end() ? nullptr : &found->test_case;
}

/// Cases over TCP need no device: they are measured without one.
std::unique_ptr<Measurer> make_traffic_measurer(const RunTarget& target,
                                                std::span<const PlannedCase> cases,
                                                const TestCase& first, const ClockChoice& clock,
                                                InterruptSource& interrupt) {
  const auto open = [&](const TestCase& test_case) -> std::unique_ptr<Measurer> {
    if (target.kind == RunTarget::Kind::loopback)
      return std::make_unique<LoopbackMeasurer>(test_case, target, clock, interrupt);
    return make_initiator(target.session, test_case, clock, interrupt);
  };
  try {
    return open(first);
  } catch (const NoDevice&) {
    const TestCase* const without = first_of(cases, [](const TestCase& c) { return c.over_tcp(); });
    if (without == nullptr) throw;
    return open(*without);
  }
}

/// Without a device its cases fail one by one, so that those of traffic can be tried beside them.
std::unique_ptr<Measurer> try_control_measurer(const TestCase& first, const RunTarget& target,
                                               const ClockChoice& clock,
                                               InterruptSource& interrupt) {
  try {
    return make_control_measurer(first, clock, interrupt.word(), target.session.files,
                                 interval_printer(), target.session.on_choice);
  } catch (const NoDevice&) {
    return std::make_unique<FailedMeasurer>(std::current_exception());
  }
}

/// For one rate at a time.
std::unique_ptr<Measurer> make_plain_measurer(const RunTarget& target,
                                              std::span<const PlannedCase> cases,
                                              const ClockChoice& clock,
                                              InterruptSource& interrupt) {
  if (target.kind == RunTarget::Kind::null_device)
    return make_null_measurer(clock, interrupt, target.session.on_interval);
  const TestCase* const control =
      first_of(cases, [](const TestCase& c) { return !c.needs_responder(); });
  const TestCase* const traffic =
      first_of(cases, [](const TestCase& c) { return c.needs_responder(); });
  if (traffic == nullptr)
    return make_control_measurer(*control, clock, interrupt.word(), target.session.files,
                                 interval_printer(), target.session.on_choice);
  auto result = make_traffic_measurer(target, cases, *traffic, clock, interrupt);
  if (control == nullptr) return result;
  return std::make_unique<MeasurerByPattern>(
      std::move(result), try_control_measurer(*control, target, clock, interrupt));
}

}  // namespace

std::unique_ptr<Measurer> make_measurer(const RunTarget& target, std::span<const PlannedCase> cases,
                                        const ClockChoice& clock, InterruptSource& interrupt) {
  auto measurer = make_plain_measurer(target, cases, clock, interrupt);
  if (first_of(cases, [](const TestCase& c) { return c.sweeps(); }) != nullptr)
    measurer = make_sweep_measurer(std::move(measurer), sweep_printer());
  std::uint64_t loops = 0;
  for (const PlannedCase& planned : cases)
    if (planned.background)
      loops = std::max(loops, planned.background->test_case.loops(Role::responder));
  if (loops == 0) return measurer;
  const auto make_background = [target, clock](const TestCase& background,
                                               const IntervalListener& listener,
                                               InterruptSource& end) {
    RunTarget place = target;
    place.session.on_interval = listener;
    const PlannedCase planned{.test_case = background};
    return make_plain_measurer(place, std::span(&planned, 1), clock, end);
  };
  return make_background_measurer(std::move(measurer), make_background, loops, interrupt);
}

}  // namespace rdmameter
