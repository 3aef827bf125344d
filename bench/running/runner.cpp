// SPDX-License-Identifier: Apache-2.0
#include "bench/running/runner.h"

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <chrono>
#include <exception>
#include <numeric>
#include <ostream>
#include <random>
#include <utility>

#include "core/base/error.h"
#include "core/base/error_text.h"
#include "topologies/axes/rank_axes.h"

namespace rdmameter {
namespace {

double ratio(std::uint64_t dividend, std::uint64_t divisor) {
  return divisor == 0 ? 0.0 : static_cast<double>(dividend) / static_cast<double>(divisor);
}

Row bare_row(const RowPlace& place, const TestCase& test_case) {
  Row row;
  row.name = place.planned.name;
  row.case_object = case_json(test_case, test_case.topology() ? topology_axes() : axes());
  if (!place.planned.host.empty()) row.case_object["host"] = place.planned.host;
  if (!place.planned.beside.empty()) row.case_object["background"] = place.planned.beside;
  row.family_index = place.family_index;
  row.repetition = place.repetition;
  row.repetitions = place.repetitions;
  return row;
}

double time_per_operation_ns(const Row& row) {
  if (row.bandwidth) return ratio(row.bandwidth->window_ns, row.bandwidth->messages);
  if (!row.latency) return 0.0;
  const HistogramData& samples = row.latency->histogram;
  return ratio(samples.sum_ns, samples.count) / (row.latency->half_round_trip ? 2 : 1);
}

}  // namespace

Row measured_row(const RowPlace& place, const Outcome& outcome) {
  Row row = bare_row(place, outcome.effective);
  static_cast<Measurement&>(row) = outcome;
  row.iterations = outcome.operations;
  row.interrupted = outcome.interrupted && !outcome.effective.until_interrupted();
  row.real_time_ns = time_per_operation_ns(row);
  row.cpu_time_ns = ratio(outcome.cpu_ns, outcome.operations);
  return row;
}

Row unmeasured_row(const RowPlace& place, Row::Status status, const std::string& message) {
  Row row = bare_row(place, place.planned.test_case);
  row.status = status;
  row.message = message;
  return row;
}

namespace {

/// Google Benchmark reports a case only after its last repetition; our rows have gone out by then.
class SilentReporter : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

class Run {
 public:
  /// @param earlier  goes on counting; borrowed
  /// @param all      repetitions of all cases, with the earlier ones
  /// @param until    decides instead of `repetitions`; null: nothing does
  Run(const RunParts& parts, std::uint64_t repetitions, EarlierRounds& earlier, std::uint64_t all,
      const Until* until = nullptr)
      : parts_(parts),
        progress_(parts.cases.size()),
        repetitions_(repetitions),
        all_(all),
        earlier_(earlier),
        until_(until) {
    earlier_.repeated.resize(parts.cases.size());
  }

  /// One repetition. Never throws, since it is called by Google Benchmark.
  /// @return  time per operation [s]; 0 where nothing was measured
  double repeat(std::size_t index) noexcept;

  bool ended(std::size_t index) const {
    return tally_.interrupted || broken_ || progress_[index].ended;
  }

  RunTally finish() {
    if (broken_) std::rethrow_exception(broken_);
    // During the last repetition, which still ended: an interrupt, unless it was asked to end so.
    if (parts_.stop.requested() && !ended_as_asked_) tally_.interrupted = true;
    return tally_;
  }

 private:
  struct Progress {
    bool ended = false;  ///< for a reason of its own: it was skipped, or settled
    // Only with until_:
    std::optional<Settling> settling;
    double spent_ns = 0;
    unsigned failures = 0;  ///< in succession
  };

  RowPlace place_of(std::size_t index);
  Row measure(const RowPlace& place);
  void settle(Progress& progress, Row& row, double spent_ns);
  Row failed(const RowPlace& place, const std::string& why);
  void count(const Row& row);

  const RunParts parts_;
  std::vector<Progress> progress_;
  std::uint64_t repetitions_, all_;
  EarlierRounds& earlier_;
  const Until* until_;
  RunTally tally_;
  bool ended_as_asked_ = false;  ///< the last one, by an interrupt
  std::string unusable_;         ///< why nothing more can be measured; empty: it can
  std::exception_ptr broken_;
};

double Run::repeat(std::size_t index) noexcept {
  Progress& progress = progress_[index];
  if (ended(index)) return 0.0;
  try {
    if (parts_.stop.requested()) throw Interrupted("interrupted");
    const RowPlace place = place_of(index);
    const auto begun = std::chrono::steady_clock::now();
    Row row = measure(place);
    progress.ended = row.status == Row::Status::skipped;
    if (until_ != nullptr)
      settle(progress, row,
             (std::chrono::steady_clock::now() - begun) / std::chrono::nanoseconds(1));
    ended_as_asked_ =
        parts_.cases[index].test_case.until_interrupted() && row.status == Row::Status::ok;
    count(row);
    parts_.listener.row(row);
    return row.real_time_ns * 1e-9;
  } catch (const Interrupted&) {
    tally_.interrupted = true;
  } catch (...) {
    broken_ = std::current_exception();
  }
  return 0.0;
}

/// Of the repetition that begins.
RowPlace Run::place_of(std::size_t index) {
  const std::string& name = parts_.cases[index].name;
  const std::uint64_t repetition = earlier_.repeated[index]++;
  if (until_ == nullptr)
    parts_.listener.begin(name, earlier_.begun++, all_);
  else
    parts_.listener.begin(fmt::format("{} ({})", name, repetition + 1), index, parts_.cases.size());
  const std::uint64_t before = repetition / repetitions_ * repetitions_;  // of earlier rounds
  return {parts_.cases[index], index, repetition, before + repetitions_};
}

void Run::settle(Progress& progress, Row& row, double spent_ns) {
  constexpr unsigned kFailures = 3;
  progress.spent_ns += spent_ns;
  progress.failures = row.status == Row::Status::error ? progress.failures + 1 : 0;
  progress.ended |= !unusable_.empty() || progress.failures == kFailures;
  if (row.status == Row::Status::ok && !row.interrupted) {
    if (!progress.settling) progress.settling.emplace(*until_);
    row.until = progress.settling->add(row, progress.spent_ns);
    progress.ended |= row.until.has_value();
  }
  const std::uint64_t repeated = row.repetition + 1;
  progress.ended |= repeated == repetitions_;
  if (progress.ended) row.repetitions = repeated;
}

Row Run::measure(const RowPlace& place) {
  using enum Row::Status;
  if (!place.planned.why_skipped.empty())
    return unmeasured_row(place, skipped, place.planned.why_skipped);
  if (!unusable_.empty()) return unmeasured_row(place, error, "not measured: " + unusable_);
  try {
    const Background* const background = place.planned.background.get();
    parts_.measurer.set_background(background == nullptr ? nullptr : &background->test_case);
    return measured_row(place, parts_.measurer.measure(place.planned.test_case));
  } catch (const Interrupted&) {
    throw;
  } catch (const Unsupported& why) {
    return unmeasured_row(place, skipped, why.what());
  } catch (const std::exception& why) {
    if (parts_.stop.reason() == StopReason::interrupted) throw Interrupted(error_text(why));
    return failed(place, error_text(why));
  }
}

Row Run::failed(const RowPlace& place, const std::string& why) {
  const ExitStatus status = status_of(std::current_exception());
  tally_.failure = tally_.failed == 0 || tally_.failure == status ? status : ExitStatus::failed;
  if (!parts_.measurer.usable()) unusable_ = why;
  return unmeasured_row(place, Row::Status::error, why);
}

void Run::count(const Row& row) {
  switch (row.status) {
    case Row::Status::ok:
      ++tally_.measured;
      if (row.topology && !row.topology->failed_pairs.empty()) ++tally_.incomplete;
      break;
    case Row::Status::error:
      ++tally_.failed;
      break;
    case Row::Status::skipped:
      ++tally_.skipped;
      break;
  }
}

/// Not std::shuffle: it may differ between libraries.
void shuffle(std::vector<std::size_t>& order, std::mt19937_64& random) {
  for (std::size_t left = order.size(); left > 1; --left)
    std::swap(order[left - 1], order[random() % left]);
}

}  // namespace

ExitStatus RunTally::status() const {
  if (interrupted) return ExitStatus::interrupted;
  if (failed > 0 &&
      (measured == 0 || failure == ExitStatus::usage))  // one value of several is wrong
    return failure.value_or(ExitStatus::failed);
  if (failed > 0 || incomplete > 0) return ExitStatus::failed;
  return measured > 0 ? ExitStatus::pass : ExitStatus::usage;
}

RunTally& RunTally::operator+=(const RunTally& more) {
  if (failed == 0)
    failure = more.failure;
  else if (more.failed > 0 && failure != more.failure)
    failure = ExitStatus::failed;
  measured += more.measured;
  skipped += more.skipped;
  failed += more.failed;
  incomplete += more.incomplete;
  interrupted = interrupted || more.interrupted;
  return *this;
}

RunTally run_range(const RunParts& parts, CaseRange range, const BenchmarkFlags& flags) {
  EarlierRounds before{.begun = range.first * flags.repetitions};
  Run run(parts, flags.repetitions, before, parts.cases.size() * flags.repetitions);
  benchmark::ClearRegisteredBenchmarks();
  for (std::size_t index = range.first; index < range.first + range.count; ++index) {
    // Every repetition finishes its one iteration, whatever became of it: Google Benchmark 1.7.1
    // aborts the process where one of several repetitions calls SkipWithError before its loop.
    const auto body = [&run, index](benchmark::State& state) {
      for ([[maybe_unused]] auto _ : state) state.SetIterationTime(run.repeat(index));
    };
    benchmark::RegisterBenchmark(parts.cases[index].name.c_str(), body)
        ->Iterations(1)
        ->UseManualTime();
  }
  SilentReporter reporter;
  // Every name: the filter was applied to our own ones. Not "all": Google Benchmark 1.7.1 then
  // grows its list by one for each name, and moves the whole list each time.
  benchmark::RunSpecifiedBenchmarks(&reporter, "^");
  benchmark::ClearRegisteredBenchmarks();
  return run.finish();
}

RunTally run_interleaved(const RunParts& parts, std::uint64_t repetitions, std::uint64_t seed) {
  std::vector<std::size_t> all(parts.cases.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  EarlierRounds none;
  return run_round(parts, {.which = all, .repetitions = repetitions, .seed = seed}, none);
}

RunTally run_round(const RunParts& parts, const RepetitionRound& round, EarlierRounds& earlier) {
  const std::uint64_t all = earlier.begun + round.which.size() * round.repetitions;
  Run run(parts, round.repetitions, earlier, all);
  std::mt19937_64 random(round.seed);
  for (std::uint64_t repetition = 0; repetition < round.repetitions; ++repetition) {
    std::vector<std::size_t> order = round.which;
    if (round.repetitions > 1) shuffle(order, random);
    for (const std::size_t index : order) run.repeat(index);
  }
  earlier.begun = all;
  return run.finish();
}

RunTally run_until(const RunParts& parts, CaseRange range, const Until& until) {
  EarlierRounds none;
  Run run(parts, until.repetitions, none, parts.cases.size(), &until);
  for (std::size_t index = range.first; index < range.first + range.count; ++index)
    while (!run.ended(index)) run.repeat(index);
  return run.finish();
}

}  // namespace rdmameter
