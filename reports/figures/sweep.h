// SPDX-License-Identifier: Apache-2.0
// Latency over load, as a sweep measured it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/summary/summary.h"
#include "reports/text/table.h"

namespace rdmameter {

/// A rate of a sweep, all its measurements together.
struct CurvePoint {
  std::uint64_t rate_per_s = 0;
  double reached_per_s = 0;              ///< median
  std::optional<double> p50_ns, p99_ns;  ///< medians of those that kept up; nothing: none did
  bool saturated = false;                ///< half of them, or more
};

/// The rates at which percentiles were measured, ascending; of all repetitions.
std::vector<CurvePoint> curve_of(const CaseSummary& summary);

/// A line for each rate; those beyond the SLO and beyond saturation are said to be.
/// @param summary  all repetitions of which are sweeps
std::string sweep_curve(const CaseSummary& summary, const TextStyle& style);

}  // namespace rdmameter
