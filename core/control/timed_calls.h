// SPDX-License-Identifier: Apache-2.0
// Calls a verb again and again and times each call alone.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/base/stop.h"
#include "core/control/control_call.h"
#include "core/engine/loop/loop_state.h"
#include "core/instrument/clock.h"
#include "core/instrument/histogram.h"

namespace rdmameter {

struct CallTally {
  std::uint64_t calls = 0;       ///< measured ones
  std::uint64_t elapsed_ns = 0;  ///< within them
  std::uint64_t cpu_ns = 0;      ///< of this thread, within them
};

/// Calls `plan.warmup` times, then `plan.operations` times or until `plan.duration_ns` are over,
/// what each call needs before and after included; or until `interrupt` is set.
/// @param latency   takes the samples: from just before a call to just after it [ns]
/// @param progress  called with the number of calls measured so far
/// @throws VerbsError, Unsupported  the verb failed, or what it needs
/// @throws Interrupted              `interrupt` was set before anything was measured
CallTally time_calls(ControlCall& verb, const LoopPlan& plan, const ClockChoice& clock,
                     const StopFlag& interrupt, Histogram& latency,
                     std::atomic<std::uint64_t>& progress);

}  // namespace rdmameter
