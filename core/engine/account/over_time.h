// SPDX-License-Identifier: Apache-2.0
// A case's latency over time: whether it is kept, and what the row says of it.
#pragma once

#include <memory>
#include <optional>

#include "core/instrument/series.h"
#include "core/result/row.h"
#include "core/test_case/test_case.h"

namespace rdmameter {

/// The series that a thread of the initiator records into; null: the case keeps none.
std::unique_ptr<LatencySeries> make_latency_series(const TestCase& test_case);

/// The memory of make_latency_series().
std::uint64_t latency_series_bytes(const TestCase& test_case);

/// @param series  of a loop that has ended; null: there is none
std::optional<OverTimeData> over_time_of(LatencySeries* series);

}  // namespace rdmameter
