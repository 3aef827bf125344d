// SPDX-License-Identifier: Apache-2.0
// Cases with --rate sweep: each is many measurements, and one result. Which rates to measure, and
// what they say together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "core/engine/measurer.h"
#include "core/result/row.h"

namespace rdmameter {

/// How exact a measurement has to be.
enum class Effort {
  rough,  ///< does it keep up?
  full,   ///< its p99, too
};

/// Measures at a rate [1/s]. @return  nothing: the user has ended the sweep
using MeasureRate = std::function<std::optional<SweepPoint>(std::uint64_t rate_per_s, Effort)>;

/// 1. Saturation: rates of 1000/s times powers of four until one is not kept up with; then a
///    quarter more than was reached there, three times. The median of what is reached then.
/// 2. The p99 without load: at a twentieth of that, three times, their median.
/// 3. The highest rate within the SLO: bisection between the two to 2 %. A rate is within it if two
///    of three measurements keep up and have their p99 within it.
/// 4. Rates between, for the curve. One that is not within the SLO below the rate of step 3 shows
///    that there is no single bend.
/// @param slo  [ns], or with kTimesUnloaded a multiple of the p99 of step 2
/// @return     what was found; after an interrupt, until then
/// @throws     as `measure` does
SweepData search_rates(std::uint64_t slo, const MeasureRate& measure);

/// Hears of each measurement of a sweep.
using SweepListener = std::function<void(const SweepPoint&)>;

/// Searches the rates of a sweep with the measurer for one rate; other cases are the latter's
/// alone. A sweep that is interrupted keeps what it has found.
/// @param measurer  not null
/// @param on_point  empty: no listener
std::unique_ptr<Measurer> make_sweep_measurer(std::unique_ptr<Measurer> measurer,
                                              SweepListener on_point);

}  // namespace rdmameter
