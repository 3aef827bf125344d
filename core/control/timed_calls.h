// SPDX-License-Identifier: Apache-2.0
// Calls a verb again and again and times each call alone.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/clock.h"
#include "core/control/control_call.h"
#include "core/histogram.h"
#include "core/loop/traffic.h"
#include "core/stop.h"

namespace rdmameter {

struct CallTally {
  std::uint64_t calls = 0;       ///< measured ones
  std::uint64_t elapsed_ns = 0;  ///< within them
  std::uint64_t cpu_ns = 0;      ///< of this thread, within them
};

/// Calls `plan.warmup` times, then `plan.operations` times or until `plan.duration_ns` are over,
/// what each call needs before and after included; or until interrupted, where the plan says so.
/// @param latency   takes the samples: from just before a call to just after it [ns]
/// @param progress  is told of the calls measured so far
/// @throws VerbsError, Unsupported  the verb failed, or what it needs
/// @throws Interrupted              `interrupt` was set; looked at before every call
CallTally time_calls(ControlCall& verb, const LoopPlan& plan, const ClockChoice& clock,
                     const StopWord& interrupt, Histogram& latency,
                     std::atomic<std::uint64_t>& progress);

}  // namespace rdmameter
