// SPDX-License-Identifier: Apache-2.0
// From what a measurement yields to what a row says.
#pragma once

#include <cstdint>
#include <string>

#include "bench/cases/cases.h"
#include "core/engine/measurer.h"
#include "core/result/row.h"

namespace rdmameter {

/// Which repetition of which case a row is about.
struct RowPlace {
  const PlannedCase& planned;
  std::uint64_t family_index;  ///< of the case, in the run
  std::uint64_t repetition, repetitions;
};

/// real_time: mean ns per operation; half the round trip for ping-pong tests, the window over its
/// messages for bandwidth. cpu_time: CPU ns of the measuring thread per operation.
Row measured_row(const RowPlace& place, const Outcome& outcome);

Row skipped_row(const RowPlace& place, const std::string& reason);
Row error_row(const RowPlace& place, const std::string& message);

}  // namespace rdmameter
