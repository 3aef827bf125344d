// SPDX-License-Identifier: Apache-2.0
// Cases and runs on the null device, for tests.
#pragma once

#include <memory>
#include <ostream>

#include "core/engine/endpoint_runner.h"
#include "core/engine/loop/table.h"
#include "core/engine/null/null_device.h"
#include "core/engine/work.h"

namespace rdmameter {

/// GoogleTest would print its bytes, padding included, which valgrind minds.
inline void PrintTo(const TestCase& test_case, std::ostream* out) {
  *out << case_json(test_case).dump();
}

inline TestCase null_case(Opcode opcode, Pattern pattern, Transport transport = Transport::rc) {
  TestCase test_case;
  test_case.opcode = opcode;
  test_case.pattern = pattern;
  test_case.transport = transport;
  test_case.size_bytes = test_case.by_value() ? kAtomicBytes : 64;
  test_case.qps = 1;
  if (test_case.by_extended_alone()) test_case.queues.api = Interface::extended;
  test_case.queues.depth = 128;
  test_case.queues.rx_depth = 512;
  test_case.queues.post_list = 1;
  test_case.queues.signal_every = pattern == Pattern::bandwidth ? 32 : 1;
  test_case.iterations = 1000;
  test_case.warmup = 100;
  test_case.wait = Wait::spin;
  test_case.loss_timeout_ns = 200'000;
  test_case.rate = 1'000'000;
  return test_case;
}

/// The CPU's counter without calibration: a run of instructions that does not depend on the
/// machine's clocks. Ticks are taken for half nanoseconds.
inline ClockChoice fixed_clock() {
  ClockChoice clock;
  clock.kind = ClockChoice::Kind::counter;
  clock.counter.scale.multiplier = 1ULL << 31;
  return clock;
}

/// One end of a case on the null device, built and ready.
struct NullSide {
  explicit NullSide(const TestCase& new_case, Role role = Role::initiator,
                    const NullFaults& faults = {})
      : test_case(new_case),
        role(role),
        endpoint(new_case, role, faults),
        work(new_case, role, endpoint.layout(), endpoint.view()) {
    work.post_receives();
    tally.latency = latency.get();
    tally.scratch = scratch.get();
    fill_plan(plan, test_case);
    loop = choose_loop(test_case, role, test_case.wait, clock.kind);
  }

  LoopResult run() {
    if (work.watch() != nullptr) work.watch()->begin(clock);
    return loop(work.loop_state(), plan, clock, stop, tally);
  }

  TestCase test_case;
  Role role;
  NullEndpoint endpoint;
  Work work;
  std::unique_ptr<Histogram> latency = std::make_unique<Histogram>();
  std::unique_ptr<Histogram> scratch = std::make_unique<Histogram>();
  LoopTally tally;
  LoopPlan plan;
  StopFlag stop;
  ClockChoice clock = fixed_clock();
  MeasuredLoop loop = nullptr;
};

}  // namespace rdmameter
