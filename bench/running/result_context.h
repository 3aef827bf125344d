// SPDX-License-Identifier: Apache-2.0
// The `context` of a result file.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/running/benchmark_flags.h"
#include "core/engine/measurer.h"
#include "core/instrument/clock.h"

namespace rdmameter {

/// What each axis is where nobody chooses: of latencies all, of other kinds what differs.
nlohmann::ordered_json stated_defaults();

/// Google Benchmark's keys as its own reporter writes them, with --benchmark_context, and ours.
/// @throws UsageError where --benchmark_context names a key that is taken
/// @param gates       what comparisons are to hold the result to
/// @param responders  environments of several hosts, each with its name as `host`, in place of the
///                    measurer's responder; null: there is one
nlohmann::ordered_json result_context(const std::string& command_line,
                                      const std::vector<std::string>& gates,
                                      const BenchmarkFlags& flags, const ClockChoice& clock,
                                      const Measurer& measurer,
                                      nlohmann::ordered_json responders = {});

}  // namespace rdmameter
