// SPDX-License-Identifier: Apache-2.0
#include "core/control/control_measurer.h"

#include "core/affinity.h"
#include "core/case_memory.h"
#include "core/control/timed_calls.h"
#include "core/environment.h"
#include "core/error.h"
#include "core/open_devices.h"
#include "core/side.h"

namespace rdmameter {
namespace {

class ControlMeasurer final : public Measurer {
 public:
  ControlMeasurer(const Case& first, const ClockChoice& clock, const StopWord& interrupt,
                  const IntervalListener& on_interval)
      : clock_(clock), interrupt_(interrupt), on_interval_(on_interval) {
    const OpenDevice& device = devices_.get(first.device, first.port_num, first.gid_index);
    const DeviceInUse in_use{*device.context, device.port, device.gid};
    environment_ = environment_json(clock_, &in_use);
  }

  Outcome measure(const Case& one_case) override {
    if (const std::string why = why_impossible(one_case); !why.empty()) throw Unsupported(why);
    require_memory(one_case, Role::initiator);
    OpenDevice& device = devices_.get(one_case.device, one_case.port_num, one_case.gid_index);
    const std::unique_ptr<ControlCall> verb = make_control_call(device, one_case);
    Outcome outcome = time_control(*verb, one_case, clock_, interrupt_, on_interval_);
    outcome.effective.device = device.port.device;
    outcome.effective.port_num = device.port.number;
    outcome.effective.gid_index = device.gid.index;
    return outcome;
  }

  bool usable() const override { return true; }
  nlohmann::ordered_json initiator_environment() const override { return environment_; }
  nlohmann::ordered_json responder_environment() const override { return nullptr; }

 private:
  const ClockChoice clock_;
  const StopWord& interrupt_;
  const IntervalListener on_interval_;
  OpenDevices devices_;
  nlohmann::ordered_json environment_;
};

}  // namespace

Outcome time_control(ControlCall& verb, const Case& one_case, const ClockChoice& clock,
                     const StopWord& interrupt, const IntervalListener& on_interval) {
  const Pinned pinned{one_case.core, "--core"};
  for (std::uint64_t i = 0; i < one_case.objects; ++i) {
    if (interrupt.requested()) throw Interrupted("interrupted");
    verb.hold();
  }
  LoopPlan plan;
  fill_plan(plan, one_case);
  Outcome outcome;
  outcome.latency = std::make_unique<Histogram>();
  std::atomic<std::uint64_t> progress{0};
  const IntervalThread lines{one_case, [&] { return progress.load(); }, on_interval};
  const CallTally tally = time_calls(verb, plan, clock, interrupt, *outcome.latency, progress);
  outcome.operations = tally.calls;
  outcome.elapsed_ns = tally.elapsed_ns;
  outcome.cpu_ns = tally.cpu_ns;
  outcome.effective = one_case;
  return outcome;
}

std::unique_ptr<Measurer> make_control_measurer(const Case& first, const ClockChoice& clock,
                                                const StopWord& interrupt,
                                                const IntervalListener& on_interval) {
  return std::make_unique<ControlMeasurer>(first, clock, interrupt, on_interval);
}

}  // namespace rdmameter
