// SPDX-License-Identifier: Apache-2.0
#include "core/control/control_measurer.h"

#include <cerrno>

#include "core/base/error.h"
#include "core/base/thread.h"
#include "core/engine/case_memory.h"
#include "core/engine/endpoint_runner.h"
#include "core/engine/loop/step.h"
#include "core/engine/open_devices.h"

namespace rdmameter {
namespace {

struct TimedCall {
  std::uint64_t call_ns, cpu_ns;
};

template <class Clock>
TimedCall time_one(ControlCall& verb, const Clock& clock) {
  verb.prepare();
  errno = 0;
  const std::uint64_t cpu_before = thread_cpu_ns();
  const std::uint64_t before = clock.now();
  const int error = verb.call();
  const std::uint64_t after = clock.now();
  const std::uint64_t cpu_after = thread_cpu_ns();
  if (error != 0) verb.fail(error);
  verb.undo();
  return {clock.to_ns(after - before), cpu_after - cpu_before};
}

}  // namespace

CallTally time_calls(ControlCall& verb, const LoopPlan& plan, const ClockChoice& clock,
                     const StopFlag& interrupt, Histogram& latency,
                     std::atomic<std::uint64_t>& progress) {
  const auto time_all = [&](const auto& reader) {
    for (std::uint64_t i = 0; i < plan.warmup; ++i) {
      if (interrupt.requested()) throw Interrupted("interrupted");
      time_one(verb, reader);
    }
    CallTally tally;
    const std::uint64_t end = end_of(reader.now(), plan.duration_ns, reader);
    while (tally.calls < plan.operations && reader.now() < end) {
      if (interrupt.requested()) {
        if (tally.calls == 0) throw Interrupted("interrupted");
        break;
      }
      const TimedCall sample = time_one(verb, reader);
      latency.record(sample.call_ns);
      progress.store(++tally.calls, std::memory_order_relaxed);
      tally.elapsed_ns += sample.call_ns;
      tally.cpu_ns += sample.cpu_ns;
    }
    return tally;
  };
  return clock.kind == ClockChoice::Kind::counter ? time_all(clock.counter)
                                                  : time_all(KernelClock{});
}

namespace {

class ControlMeasurer final : public Measurer {
 public:
  ControlMeasurer(const TestCase& first, const ClockChoice& clock, const StopFlag& interrupt,
                  FileMemory files, const IntervalListener& on_interval, ChoiceListener on_choice)
      : clock_(clock),
        interrupt_(interrupt),
        on_interval_(on_interval),
        choice_(std::move(on_choice)),
        devices_({.files = files, .gpus = true, .cancel_check = [this] {
                    if (interrupt_.requested()) throw Interrupted("interrupted");
                  }}) {
    const EndSettings& end = choice_.settled(first.initiator, first.transport);
    environment_ = environment_with(clock_, &devices_.get(end.device, end.port_num, end.gid_index));
  }

  Outcome measure(const TestCase& asked) override {
    if (const std::string why = why_impossible(asked); !why.empty()) throw Unsupported(why);
    require_memory(DeviceCase::usual(asked, Role::initiator));
    const EndSettings& end = choice_.settled(asked.initiator, asked.transport);
    OpenDevice& device = devices_.get(end.device, end.port_num, end.gid_index, true);
    const DeviceCase test_case{asked, device, Role::initiator};
    const Placement placement = place_end(test_case, Role::initiator, false, {}, claims_);
    const std::unique_ptr<ControlCall> verb = [&] {
      const Pinned pinned = pinned_to_make(placement, "--core");
      return make_control_call(device, test_case);
    }();
    return time_control(*verb, test_case, placement, clock_, interrupt_, on_interval_);
  }

  Json initiator_environment() const override { return environment_; }

 private:
  const ClockChoice clock_;
  const StopFlag& interrupt_;
  const IntervalListener on_interval_;
  LoneChoice choice_;
  OpenDevices devices_;
  CpuClaims claims_;
  Json environment_;
};

}  // namespace

Outcome time_control(ControlCall& verb, const SettledCase& test_case, const Placement& placement,
                     const ClockChoice& clock, const StopFlag& interrupt,
                     const IntervalListener& on_interval) {
  std::unique_ptr<Histogram> samples;
  {
    const Pinned pinned{placement.first(), "--core"};
    samples = std::make_unique<Histogram>();
    for (std::uint64_t i = 0; i < test_case->objects; ++i) {
      if (interrupt.requested()) throw Interrupted("interrupted");
      verb.hold();
    }
  }
  LoopPlan plan;
  fill_plan(plan, test_case);
  Outcome outcome;
  std::atomic<std::uint64_t> progress{0};
  const IntervalThread lines{test_case, [&] { return progress.load(); }, on_interval};
  const Pinned pinned{placement.first(), "--core"};  // and not the thread of `lines`
  const CallTally tally = time_calls(verb, plan, clock, interrupt, *samples, progress);
  outcome.latency = latency_of(test_case, *samples);
  outcome.operations = tally.calls;
  outcome.elapsed_ns = tally.elapsed_ns;
  outcome.cpu_ns = tally.cpu_ns;
  outcome.effective = test_case;
  outcome.interrupted = interrupt.requested();
  outcome.extra["placement"] = {
      {"initiator", placement_json(placement_data(placement, place_now()))},
      {"responder", nullptr}};
  verb.add_to(outcome.extra);
  return outcome;
}

std::unique_ptr<Measurer> make_control_measurer(const TestCase& first, const ClockChoice& clock,
                                                const StopFlag& interrupt, FileMemory files,
                                                const IntervalListener& on_interval,
                                                ChoiceListener on_choice) {
  return std::make_unique<ControlMeasurer>(first, clock, interrupt, files, on_interval,
                                           std::move(on_choice));
}

}  // namespace rdmameter
