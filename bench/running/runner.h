// SPDX-License-Identifier: Apache-2.0
// Runs the planned cases: under Google Benchmark, which decides order and repetitions, or among
// ranks in an order that all of them know; what a repetition is, how it ends and where its row goes
// is ours.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/cases/cases.h"
#include "bench/running/benchmark_flags.h"
#include "bench/running/until.h"
#include "core/base/error_text.h"
#include "core/base/stop.h"
#include "core/engine/measurer.h"
#include "core/result/row.h"

namespace rdmameter {

// From what a measurement yields to what a row says.

/// Which repetition of which case a row is about.
struct RowPlace {
  const PlannedCase& planned;
  std::uint64_t family_index;  ///< of the case, in the run
  std::uint64_t repetition, repetitions;
};

/// real_time: mean ns per operation; half the round trip for ping-pong tests, the window over its
/// messages for bandwidth. cpu_time: CPU ns of the measuring thread per operation.
Row measured_row(const RowPlace& place, const Outcome& outcome);

/// @param status  skipped or error
Row unmeasured_row(const RowPlace& place, Row::Status status, const std::string& message);

/// Is called as a run goes on.
class RunListener {
 public:
  virtual ~RunListener() = default;
  /// A repetition begins. @param done  repetitions before it, of `all`; cases, where the
  ///                                   number of repetitions is not known
  virtual void begin(const std::string& name, std::uint64_t done, std::uint64_t all) = 0;
  /// One repetition ended (or a case was skipped). The row must be safe when this returns.
  virtual void row(const Row& row) = 0;
};

/// How a run ended.
struct RunTally {
  std::uint64_t measured = 0, skipped = 0, failed = 0;  ///< rows
  std::uint64_t incomplete = 0;                         ///< of those measured: pairs have failed
  bool interrupted = false;
  std::optional<ExitStatus> failure;  ///< that of all failed rows, where they agree

  RunTally& operator+=(const RunTally& more);
  /// Pass where something was measured and nothing failed; usage where nothing was left to measure.
  ExitStatus status() const;
};

/// Neighbours among the cases.
struct CaseRange {
  std::size_t first, count;
};

/// What a run is of, and what takes part in it; all of it is borrowed.
struct RunParts {
  const std::vector<PlannedCase>& cases;  ///< those of the run
  Measurer& measurer;
  const StopFlag& stop;
  RunListener& listener;
};

/// Fates: an Unsupported case has one skipped row, and is not tried again. What fails has an error
/// row and the run goes on, while the measurer is usable; else the rest of the cases have error
/// rows. An interrupt ends the run, keeping its rows; of a case that goes on until then, it ends
/// the case, which has its row, and the run is interrupted only where something was left to do.
/// Errors of the listener end the run and come out.
/// @param range  which of them this measurer measures. The listener hears of them in their places
///               among all. Those before them have been run
RunTally run_range(const RunParts& parts, CaseRange range, const BenchmarkFlags& flags);

/// As run_range(), of all, but repetition by repetition, each in an order of its own: what changes
/// in the course of a run (clocks, temperatures, what a launcher has piled up) is no difference
/// between cases then. A single repetition has the cases in their own order.
/// @param seed  draws the orders: the same seed, the same orders, on every machine
RunTally run_interleaved(const RunParts& parts, std::uint64_t repetitions, std::uint64_t seed);

/// Some of the cases, and how often each of them is measured now.
struct RepetitionRound {
  std::vector<std::size_t> which;
  std::uint64_t repetitions;
  std::uint64_t seed = 0;  ///< as that of run_interleaved()
};

/// What the rounds of a run have measured so far.
struct EarlierRounds {
  std::vector<std::uint64_t> repeated;  ///< of each case: how often
  std::uint64_t begun = 0;              ///< repetitions of all cases
};

/// As run_interleaved(), but only some of the cases, of which earlier rounds may have measured
/// some. Their rows go on counting.
/// @param earlier  this round is added
RunTally run_round(const RunParts& parts, const RepetitionRound& round, EarlierRounds& earlier);

/// As run_range(), but each case is repeated until `until` says why not. Rows have its most as
/// `repetitions`, the last one of a case what there were. A case that fails three times in
/// succession is given up.
RunTally run_until(const RunParts& parts, CaseRange range, const Until& until);

/// A way of measuring that could not be set up, so that the result still says so, case by case.
class FailedMeasurer : public Measurer {
 public:
  explicit FailedMeasurer(std::exception_ptr why) : why_(std::move(why)) {}

  Outcome measure(const TestCase&) override { std::rethrow_exception(why_); }
  bool usable() const override { return false; }

 private:
  std::exception_ptr why_;
};

}  // namespace rdmameter
