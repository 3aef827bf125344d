// SPDX-License-Identifier: Apache-2.0
// The decision behind choose_clock(), apart from the machine it is made for.
#pragma once

#include <optional>
#include <string>

#include "core/instrument/clock.h"

namespace rdmameter {

/// The facts about this machine's counter.
struct CalibrationFacts {
  bool has_counter = false;
  double first_ticks_per_ns = 0, second_ticks_per_ns = 0;  ///< of the two intervals
  double ticks_per_ns = 0;                                 ///< over both
  bool invariant = false;            ///< the CPU says that the rate never changes
  bool kernel_uses_counter = false;  ///< the kernel, which watches it, keeps time by it
};

/// An honest counter's intervals of 8 ms agree within some 10 ppm (a bracket of 100 ns); counters
/// that are emulated or follow the CPU's frequency miss by percents.
inline constexpr double kMaxDisagreementPpm = 200;

/// The counter where it can be trusted, else the kernel's clock; `reason` says why. read_ns is left
/// at 0.
ClockChoice judge_calibration(const CalibrationFacts& facts);

/// With a tick of this length or more, a latency of one microsecond has an error of 1 % or more.
inline constexpr double kCoarseTick_ns = 10;

/// How far apart two readings are at least if they differ [ns]: aarch64's counters often step by
/// 40 ns. Of the kernel's clock it is not known.
std::optional<double> resolution_ns(const ClockChoice& clock);

/// A warning about the clock for readers of latencies; empty: none.
std::string clock_warning(const ClockChoice& clock);

}  // namespace rdmameter
