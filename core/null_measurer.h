// SPDX-License-Identifier: Apache-2.0
// Measures cases on the built-in null device: the instrument's floor, by the loops themselves.
#pragma once

#include "core/clock.h"
#include "core/interval_thread.h"
#include "core/measurer.h"
#include "core/stop.h"

namespace rdmameter {

/// @param interrupt    borrowed; ends a running case
/// @param on_interval  hears of what goes on until interrupted
std::unique_ptr<Measurer> make_null_measurer(const ClockChoice& clock, const StopWord& interrupt,
                                             const IntervalListener& on_interval = {});

/// The instrument's own cost on this machine, for every result: {"clock_read_ns",
/// "histogram_record_ns", "post_poll_ns", "write_lat_ns", ...}. Takes about 20 ms.
nlohmann::ordered_json instrument_floor(const ClockChoice& clock);

}  // namespace rdmameter
