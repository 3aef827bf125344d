// SPDX-License-Identifier: Apache-2.0
#include "bench/background/background_measurer.h"

#include <fmt/format.h>

#include <utility>

#include "bench/background/background_traffic.h"
#include "core/base/error.h"
#include "core/engine/placement/affinity.h"

namespace rdmameter {
namespace {

class BackgroundMeasurer final : public Measurer {
 public:
  BackgroundMeasurer(std::unique_ptr<Measurer> cases, MakeBackground make, std::uint64_t loops,
                     const InterruptSource& interrupt)
      : cases_(std::move(cases)), make_(std::move(make)), loops_(loops), interrupt_(interrupt) {}

  void set_background(const TestCase* background) override { wanted_ = background; }

  Outcome measure(const TestCase& asked) override {
    const TestCase test_case = with_wait(asked);
    if (wanted_ != current_) traffic_.reset();
    current_ = wanted_;
    if (current_ == nullptr) return cases_->measure(test_case);
    try {
      return beside(test_case);
    } catch (...) {
      traffic_.reset();  // the next case has one that is known to run
      throw;
    }
  }

  bool usable() const override { return cases_->usable(); }
  void tell_responder(const nlohmann::json& row) override { cases_->tell_responder(row); }
  nlohmann::ordered_json initiator_environment() const override {
    return cases_->initiator_environment();
  }
  nlohmann::ordered_json responder_environment() const override {
    return cases_->responder_environment();
  }

 private:
  TestCase with_wait(TestCase test_case) const;
  Outcome beside(const TestCase& test_case);

  const std::unique_ptr<Measurer> cases_;
  const MakeBackground make_;
  const std::uint64_t loops_;
  const InterruptSource& interrupt_;
  const TestCase *wanted_ = nullptr, *current_ = nullptr;
  std::unique_ptr<BackgroundTraffic> traffic_;
};

/// A loop that spins would keep another one of the same measurement from going on, where there are
/// more of them, at both ends if those are one machine, than CPUs. So also without a background: a
/// case waits the same way beside it and alone.
TestCase BackgroundMeasurer::with_wait(TestCase test_case) const {
  const auto mine = initiator_environment(), theirs = responder_environment();
  const bool one_machine = mine.is_object() && theirs.is_object() && mine.contains("boot_id") &&
                           mine.at("boot_id") == theirs.value("boot_id", nlohmann::ordered_json());
  const std::uint64_t loops = loops_of(test_case) + loops_;
  if (test_case.wait == Wait::automatic && loops * (one_machine ? 2 : 1) > allowed_cpus())
    test_case.wait = Wait::yield;
  return test_case;
}

Outcome BackgroundMeasurer::beside(const TestCase& test_case) {
  using Clock = BackgroundTraffic::Clock;
  if (!traffic_) traffic_ = std::make_unique<BackgroundTraffic>(with_wait(*current_), make_);
  traffic_->await_steady(interrupt_);
  const auto began = Clock::now();
  Outcome outcome = cases_->measure(test_case);
  const auto ended = outcome.window_end == Clock::time_point() ? Clock::now() : outcome.window_end;
  const auto window = std::chrono::nanoseconds(outcome.elapsed_ns);
  outcome.background = traffic_->between(std::max(began, ended - window), ended);
  outcome.extra.erase("shared_responder");  // as was asked for
  return outcome;
}

}  // namespace

std::uint64_t loops_of(const TestCase& test_case) {
  return test_case.devices() * test_case.threads * (test_case.bidirectional ? 2 : 1);
}

std::unique_ptr<Measurer> make_background_measurer(std::unique_ptr<Measurer> cases,
                                                   MakeBackground make, std::uint64_t loops,
                                                   const InterruptSource& interrupt) {
  return std::make_unique<BackgroundMeasurer>(std::move(cases), std::move(make), loops, interrupt);
}

}  // namespace rdmameter
