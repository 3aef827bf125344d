// SPDX-License-Identifier: Apache-2.0
// The `context` of a result file.
#pragma once

#include <string>
#include <vector>

#include "bench/running/benchmark_flags.h"
#include "core/engine/measurer.h"
#include "core/instrument/clock.h"
#include "core/result/json_text.h"
#include "core/result/result_file.h"

namespace rdmameter {

/// What every result of this program tells of itself and of this machine: Google Benchmark's keys,
/// the command, an id of its own, and each axis's default (of latencies all, of other kinds of
/// tests those that differ).
ContextParts own_context(const std::string& command_line);

/// Google Benchmark's keys as its own reporter writes them, with --benchmark_context, and ours.
/// @throws UsageError where --benchmark_context names a key that is taken
/// @param gates       what comparisons are to hold the result to
/// @param responders  environments of several hosts, each with its name as `host`, in place of the
///                    measurer's responder; null: there is one
Json result_context(const std::string& command_line, const std::vector<std::string>& gates,
                    const BenchmarkFlags& flags, const ClockChoice& clock, const Measurer& measurer,
                    Json responders = {});

}  // namespace rdmameter
