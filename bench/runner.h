// SPDX-License-Identifier: Apache-2.0
// Runs the planned cases under Google Benchmark, which decides order and repetitions; what a
// repetition is, how it ends and where its row goes is ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/benchmark_flags.h"
#include "bench/cases.h"
#include "bench/exit_status.h"
#include "core/measurer.h"
#include "core/stop.h"
#include "reports/row.h"

namespace rdmameter {

/// Hears of a run as it goes.
class RunListener {
 public:
  virtual ~RunListener() = default;
  /// A repetition begins. @param done  repetitions before it, of `all`
  virtual void begin(const std::string& name, std::uint64_t done, std::uint64_t all) = 0;
  /// One repetition ended (or a case was skipped). The row must be safe when this returns.
  virtual void row(const Row& row) = 0;
};

/// How a run ended.
struct RunTally {
  std::uint64_t measured = 0, skipped = 0, failed = 0;  ///< rows
  bool interrupted = false;
  std::optional<ExitStatus> failure;  ///< that of all failed rows, where they agree

  /// Pass where something was measured and nothing failed; usage where nothing was left to measure.
  ExitStatus status() const;
};

/// Fates: an Unsupported case has one skipped row, and is not tried again. What fails has an error
/// row and the run goes on, while the measurer is usable; else the rest of the cases have error
/// rows. An interrupt ends the run, keeping its rows; of a case that goes on until then, it ends
/// the case, which has its row, and the run is interrupted only where something was left to do.
/// Errors of the listener end the run and come out.
/// @param cases  those that the filter selected
RunTally run_cases(const std::vector<PlannedCase>& cases, const BenchmarkFlags& flags,
                   Measurer& measurer, const StopWord& stop, RunListener& listener);

}  // namespace rdmameter
