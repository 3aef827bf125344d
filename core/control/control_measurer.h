// SPDX-License-Identifier: Apache-2.0
// Measures control path tests on this end's device: without traffic, so without a responder.
#pragma once

#include <memory>

#include "core/base/stop.h"
#include "core/control/control_call.h"
#include "core/engine/account/interval_thread.h"
#include "core/engine/measurer.h"
#include "core/engine/placement/placement.h"
#include "core/instrument/clock.h"
#include "core/verbs/memory/memory_file.h"
#include "core/verbs/port_choice.h"

namespace rdmameter {

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

/// Holds the case's objects, then times its calls, on the CPU that the placement names. The
/// outcome's devices are the caller's to name.
/// @throws VerbsError, Unsupported, MeasurementError, Interrupted
Outcome time_control(ControlCall& verb, const TestCase& test_case, const Placement& placement,
                     const ClockChoice& clock, const StopFlag& interrupt,
                     const IntervalListener& on_interval = {});

}  // namespace rdmameter
