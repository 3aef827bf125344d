// SPDX-License-Identifier: Apache-2.0
// Measures control path tests on this end's device: without traffic, so without a responder.
#pragma once

#include <memory>

#include "core/clock.h"
#include "core/control/control_call.h"
#include "core/interval_thread.h"
#include "core/measurer.h"
#include "core/stop.h"

namespace rdmameter {

/// @param first      its device, port and GID are the ones that the environment describes
/// @param interrupt    borrowed; ends a running case
/// @param on_interval  hears of what goes on until interrupted
/// @throws NoDevice, UsageError, VerbsError
std::unique_ptr<Measurer> make_control_measurer(const Case& first, const ClockChoice& clock,
                                                const StopWord& interrupt,
                                                const IntervalListener& on_interval = {});

/// Holds the case's objects, then times its calls. The outcome's devices are the caller's to name.
/// @throws VerbsError, Unsupported, MeasurementError, Interrupted
Outcome time_control(ControlCall& verb, const Case& one_case, const ClockChoice& clock,
                     const StopWord& interrupt, const IntervalListener& on_interval = {});

}  // namespace rdmameter
