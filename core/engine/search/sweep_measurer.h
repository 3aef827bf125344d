// SPDX-License-Identifier: Apache-2.0
// Cases with --rate sweep: each is many measurements, and one result.
#pragma once

#include <functional>
#include <memory>

#include "core/engine/measurer.h"

namespace rdmameter {

/// Hears of each measurement of a sweep.
using SweepListener = std::function<void(const SweepPoint&)>;

/// Searches the rates of a sweep with the measurer for one rate; other cases are the latter's
/// alone. A sweep that is interrupted keeps what it has found.
/// @param measurer  not null
/// @param on_point  empty: no listener
std::unique_ptr<Measurer> make_sweep_measurer(std::unique_ptr<Measurer> measurer,
                                              SweepListener on_point);

}  // namespace rdmameter
