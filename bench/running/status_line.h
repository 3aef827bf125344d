// SPDX-License-Identifier: Apache-2.0
// What a terminal says of a run while a case is measured.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/engine/account/interval_thread.h"
#include "core/engine/search/sweep_measurer.h"
#include "core/verbs/port_choice.h"

namespace rdmameter {

/// "3/40  0:12 elapsed, 3:20 left  write_lat/rc/size:64": the third of 40 measurements. What is
/// left is known once one has ended, if the others take as long.
/// @param done   measurements that have ended
/// @param width  of the terminal [columns]: the line is shorter, so that one "\r" takes it back
std::string status_line(std::uint64_t done, std::uint64_t all, double elapsed_s,
                        std::string_view name, std::size_t width);

/// A log has a line of progress that often.
inline constexpr double kLogPause_s = 60;

double seconds_since(std::chrono::steady_clock::time_point begun);

/// "0:12", "1:02:03"
std::string clock_text(double seconds);

/// Is stderr a terminal that shows progress: not a dumb one, and not in CI?
bool stderr_is_interactive();

// What a long case says of itself at each --interval.

/// "12.0 s  1.23 Mmsg/s  0.63 Gb/s", or of a latency "12.0 s  43210 round trips, one in 23.1 µs".
std::string interval_line(const TestCase& test_case, const ProgressInterval& interval);

/// Prints each measurement of a sweep on stderr, if that is a terminal.
SweepListener sweep_printer();

/// Prints each on stderr; of cases with an end only at a terminal.
IntervalListener interval_printer();

/// Writes the line of a choice on stderr, once for each printer.
ChoiceListener choice_printer();

}  // namespace rdmameter
