// SPDX-License-Identifier: Apache-2.0
// Calls a verb again and again and times each call alone.
#pragma once

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
/// what each call needs before and after included.
/// @param latency  takes the samples: from just before a call to just after it [ns]
/// @throws VerbsError, Unsupported  the verb failed, or what it needs
/// @throws Interrupted              `interrupt` was set; looked at before every call
CallTally time_calls(ControlCall& verb, const LoopPlan& plan, const ClockChoice& clock,
                     const StopWord& interrupt, Histogram& latency);

}  // namespace rdmameter
