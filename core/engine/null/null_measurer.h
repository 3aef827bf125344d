// SPDX-License-Identifier: Apache-2.0
// Measures cases on the built-in null device: the instrument's overhead, by the loops themselves.
#pragma once

#include "core/engine/account/interval_thread.h"
#include "core/engine/measurer.h"
#include "core/instrument/clock.h"
#include "core/wire/wait.h"

namespace rdmameter {

/// @param interrupt    borrowed; ends a running case
/// @param on_interval  called at each interval of a long case
std::unique_ptr<Measurer> make_null_measurer(const ClockChoice& clock,
                                             const InterruptSource& interrupt,
                                             const IntervalListener& on_interval = {});

/// The instrument's own cost on this machine, for every result: {"clock_read_ns",
/// "histogram_record_ns", "post_poll_ns", "write_lat_ns", ...}. Takes about 20 ms.
Json instrument_overhead(const ClockChoice& clock);

}  // namespace rdmameter
