// SPDX-License-Identifier: Apache-2.0
#include "bench/running/measurers.h"

#include <algorithm>
#include <functional>
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

/// A measurer, and the server of its responder.
class MeasurerWithServer final : public MeasurerOver {
 public:
  MeasurerWithServer(std::shared_ptr<const void> server, std::unique_ptr<Measurer> measurer)
      : MeasurerOver(*measurer), server_(std::move(server)), measurer_(std::move(measurer)) {}

  Outcome measure(const TestCase& test_case) override { return measurer_->measure(test_case); }
  void set_background(const TestCase* test_case) override { measurer_->set_background(test_case); }

 private:
  std::shared_ptr<const void> server_;  ///< of any class; here alone
  std::unique_ptr<Measurer> measurer_;  ///< says bye before the server goes
};

SessionOptions with_server(SessionOptions session, const auto& server) {
  session.server = server.address();
  session.token = server.token();
  return session;
}

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
const TestCase* first_of(std::span<const PlannedCase> cases, const auto& is_one) {
  const auto found = std::ranges::find_if(cases, [&](const PlannedCase& planned) {
    return planned.why_skipped.empty() && std::invoke(is_one, planned.test_case);
  });
  return found == cases.end() ? nullptr : &found->test_case;
}

/// Cases over TCP need no device: they are measured without one.
std::unique_ptr<Measurer> make_traffic_measurer(const RunTarget& target,
                                                std::span<const PlannedCase> cases,
                                                const TestCase& first, const ClockChoice& clock,
                                                InterruptSource& interrupt) {
  const auto open = [&](const TestCase& test_case) -> std::unique_ptr<Measurer> {
    if (target.kind != RunTarget::Kind::loopback)
      return make_initiator(target.session, test_case, clock, interrupt);
    auto server = std::make_unique<LoopbackServer>(clock, interrupt);
    auto initiator =
        make_initiator(with_server(target.session, *server), test_case, clock, interrupt);
    return std::make_unique<MeasurerWithServer>(std::move(server), std::move(initiator));
  };
  try {
    return open(first);
  } catch (const NoDevice&) {
    const TestCase* const without = first_of(cases, &TestCase::over_tcp);
    if (without == nullptr) throw;
    return open(*without);
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
  const TestCase* const traffic = first_of(cases, &TestCase::needs_responder);
  const auto make_control = [&] {
    return make_control_measurer(*control, clock, interrupt.word(), target.session.files,
                                 interval_printer(), target.session.on_choice);
  };
  if (traffic == nullptr) return make_control();
  auto of_traffic = make_traffic_measurer(target, cases, *traffic, clock, interrupt);
  if (control == nullptr) return of_traffic;
  // Without a device its cases fail one by one, so that those of traffic are tried beside them.
  std::unique_ptr<Measurer> of_control;
  try {
    of_control = make_control();
  } catch (const NoDevice&) {
    of_control = std::make_unique<FailedMeasurer>(std::current_exception());
  }
  return std::make_unique<MeasurerByPattern>(std::move(of_traffic), std::move(of_control));
}

}  // namespace

std::unique_ptr<Measurer> make_measurer(const RunTarget& asked, std::span<const PlannedCase> cases,
                                        const ClockChoice& clock, InterruptSource& interrupt) {
  if (first_of(cases, [](const TestCase&) { return true; }) == nullptr)
    return std::make_unique<FailedMeasurer>(nullptr);
  RunTarget target = asked;
  std::unique_ptr<RemoteServer> server;
  const bool beside = std::ranges::any_of(cases, [](const PlannedCase& planned) {
    return planned.background != nullptr && planned.why_skipped.empty();
  });
  if (target.remote && (beside || first_of(cases, &TestCase::needs_responder) != nullptr)) {
    server = std::make_unique<RemoteServer>(*target.remote, interrupt);
    target.session = with_server(target.session, *server);
  }
  auto measurer = make_plain_measurer(target, cases, clock, interrupt);
  if (first_of(cases, &TestCase::sweeps) != nullptr)
    measurer = make_sweep_measurer(std::move(measurer), sweep_printer());
  std::uint64_t loops = 0;
  for (const PlannedCase& planned : cases)
    if (planned.background)
      loops = std::max(loops, planned.background->test_case.loops(Role::responder));
  const auto make_background = [target, clock](const TestCase& background,
                                               const IntervalListener& listener,
                                               InterruptSource& end) {
    RunTarget place = target;
    place.session.on_interval = listener;
    const PlannedCase planned{.test_case = background};
    return make_plain_measurer(place, std::span(&planned, 1), clock, end);
  };
  if (loops > 0)
    measurer = make_background_measurer(std::move(measurer), make_background, loops, interrupt);
  if (server == nullptr) return measurer;
  return std::make_unique<MeasurerWithServer>(std::move(server), std::move(measurer));
}

}  // namespace rdmameter
