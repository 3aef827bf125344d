// SPDX-License-Identifier: Apache-2.0
// Where does a series change its level, and does it creep?
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rdmameter {

struct MeanShift {
  std::size_t from = 0, at = 0, to = 0;  ///< indices: the parts are [from, at) and [at, to)
  double shift = 0;                      ///< of the mean, from this part of the series to the next
  double deviations = 0;  ///< how far beyond the season's allowance, in standard errors
};

struct MeanShiftOptions {
  /// Standard errors, for a series that is long. Among all splits of a series that is checked at
  /// each of 300 values, chance goes beyond in less than 2 % of series.
  double threshold = 5;
  double floor = 0.03;       ///< a smaller shift is none
  double season = 0.03;      ///< amplitude of a slow disturbance that is taken for granted...
  double period = 24;        ///< ...with up to so many values for each of its periods
  std::size_t min_part = 5;  ///< values on either side of a change, at least
  std::size_t min_series = 12;
  std::size_t together = 1;  ///< series that are looked at, which share the chance of a false alarm
};

/// Changes of level, ascending. The series is split where the means of both parts differ most, then
/// each part is, as long as the difference is beyond the floor, and beyond what a season can do to
/// such parts by as many standard errors. A creep, which has no step, is split, too:
/// its parts differ.
///
/// Values are taken for an autoregressive series; its variance and correlation are estimated from
/// differences of neighbours (von Neumann), which a change of level or a trend hardly touches.
/// @param series  logarithms, so that shifts are ratios
std::vector<MeanShift> mean_shifts(std::span<const double> series,
                                   const MeanShiftOptions& options = {});

}  // namespace rdmameter
