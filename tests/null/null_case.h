// SPDX-License-Identifier: Apache-2.0
// Cases and runs on the null device, for tests.
#pragma once

#include <memory>
#include <ostream>

#include "core/loop/table.h"
#include "core/null_device.h"
#include "core/side.h"
#include "core/work.h"

namespace rdmameter {

/// GoogleTest would print its bytes, padding included, which valgrind minds.
inline void PrintTo(const Case& one_case, std::ostream* out) {
  *out << case_json(one_case).dump();
}

inline Case null_case(Opcode opcode, Pattern pattern, Transport transport = Transport::rc) {
  Case made;
  made.opcode = static_cast<std::uint64_t>(opcode);
  made.pattern = static_cast<std::uint64_t>(pattern);
  made.transport = static_cast<std::uint64_t>(transport);
  made.size_bytes = 64;
  made.qps = 1;
  made.depth = 128;
  made.rx_depth = 512;
  made.post_list = 1;
  made.signal_every = pattern == Pattern::bandwidth ? 32 : 1;
  made.iterations = 1000;
  made.warmup = 100;
  made.wait = static_cast<std::uint64_t>(Wait::spin);
  made.loss_timeout_ns = 200'000;
  return made;
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
  explicit NullSide(const Case& made, Role role = Role::initiator, const NullFaults& faults = {})
      : one_case(made),
        role(role),
        endpoint(made, role, faults),
        work(made, role, endpoint.layout(), endpoint.view()) {
    work.post_receives();
    tally.latency = latency.get();
    tally.scratch = scratch.get();
    fill_plan(plan, one_case);
    loop = choose_loop(one_case, role, one_case.waiting(), clock.kind);
  }

  LoopEnd run() { return loop(work.traffic(), plan, clock, stop, tally); }

  Case one_case;
  Role role;
  NullEndpoint endpoint;
  Work work;
  std::unique_ptr<Histogram> latency = std::make_unique<Histogram>();
  std::unique_ptr<Histogram> scratch = std::make_unique<Histogram>();
  LoopTally tally;
  LoopPlan plan;
  StopWord stop;
  ClockChoice clock = fixed_clock();
  MeasuredLoop loop = nullptr;
};

}  // namespace rdmameter
