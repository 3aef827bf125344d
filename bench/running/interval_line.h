// SPDX-License-Identifier: Apache-2.0
// What a long case says of itself at each --interval.
#pragma once

#include <string>

#include "core/engine/account/interval_thread.h"
#include "core/engine/search/sweep_measurer.h"

namespace rdmameter {

/// "12.0 s  1.23 Mmsg/s  0.63 Gb/s", or of a latency "12.0 s  43210 round trips, one in 23.1 µs".
std::string interval_line(const TestCase& test_case, const ProgressInterval& interval);

/// "20000/s: reached 19987/s, p50 12.3 µs, p99 45.6 µs"
std::string sweep_line(const SweepPoint& point);

/// Prints each measurement of a sweep on stderr, if that is a terminal.
SweepListener sweep_printer();

/// Prints each on stderr; of cases with an end only at a terminal.
IntervalListener interval_printer();

}  // namespace rdmameter
