// SPDX-License-Identifier: Apache-2.0
// Measures control path tests on this end's device: without traffic, so without a responder.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "core/base/stop.h"
#include "core/control/control_call.h"
#include "core/engine/account/interval_thread.h"
#include "core/engine/loop/loop_state.h"
#include "core/engine/measurer.h"
#include "core/engine/placement/placement.h"
#include "core/engine/settle.h"
#include "core/instrument/clock.h"
#include "core/instrument/histogram.h"
#include "core/verbs/memory/memory_file.h"
#include "core/verbs/port_choice.h"

namespace rdmameter {

// Calls a verb again and again and times each call alone.

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

/// @param first      its device, port and GID are the ones that the environment describes
/// @param interrupt    borrowed; ends a running case
/// @param files        that this end may map, for its own user
/// @param on_interval  called at each interval of a long case
/// @param on_choice    called with what was chosen among devices
/// @throws NoDevice, UsageError, VerbsError
std::unique_ptr<Measurer> make_control_measurer(const TestCase& first, const ClockChoice& clock,
                                                const StopFlag& interrupt, FileMemory files,
                                                const IntervalListener& on_interval = {},
                                                ChoiceListener on_choice = {});

/// Holds the case's objects, then times its calls, on the CPU that the placement names.
/// @throws VerbsError, Unsupported, MeasurementError, Interrupted
Outcome time_control(ControlCall& verb, const SettledCase& test_case, const Placement& placement,
                     const ClockChoice& clock, const StopFlag& interrupt,
                     const IntervalListener& on_interval = {});

}  // namespace rdmameter
