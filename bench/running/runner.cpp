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
#include "core/wire/watcher.h"
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

struct Run {
  struct Progress {
    bool ended = false;  ///< for a reason of its own: it was skipped, or settled
    // Only with `until`:
    std::optional<Settling> settling;
    double spent_ns = 0;
    unsigned failures = 0;  ///< in succession
  };

  const RunParts parts;
  const std::uint64_t repetitions;
  EarlierRounds& earlier;        ///< goes on counting
  const std::uint64_t all;       ///< repetitions of all cases, with the earlier ones
  const Until* until = nullptr;  ///< decides instead of `repetitions`; null: nothing does
  std::vector<Progress> progress = std::vector<Progress>(parts.cases.size());
  RunTally tally;
  bool ended_as_asked = false;  ///< the last one, by an interrupt
  std::string unusable;         ///< why nothing more can be measured; empty: it can
  std::exception_ptr broken;
  const InterruptSource nobody = {};
  /// Between cases, too, a responder hears of us: whoever reads our output may be slow.
  const WatchThread awake{[this](const EventFd& done) {
    constexpr std::chrono::seconds kEvery{30};  // a responder waits two minutes
    while (wait_for(-1, 0, Deadline::in(kEvery), nobody, &done) == Waited::deadline)
      parts.measurer.say_alive();
  }};

  bool ended(std::size_t index) const {
    return tally.interrupted || broken || progress[index].ended;
  }

  RunTally finish() {
    if (broken) std::rethrow_exception(broken);
    // During the last repetition, which still ended: an interrupt, unless it was asked to end so.
    if (parts.stop.requested() && !ended_as_asked) tally.interrupted = true;
    return tally;
  }

  /// One repetition. Never throws, since it is called by Google Benchmark.
  /// @return  time per operation [s]; 0 where nothing was measured
  double repeat(std::size_t index) noexcept {
    Progress& its = progress[index];
    if (ended(index)) {
      ++earlier.begun;
      return 0.0;
    }
    try {
      if (parts.stop.requested()) throw Interrupted("interrupted");
      const RowPlace place = place_of(index);
      const auto begun = std::chrono::steady_clock::now();
      Row row = measure(place);
      its.ended = row.status == Row::Status::skipped;
      if (until != nullptr)
        settle(its, row, (std::chrono::steady_clock::now() - begun) / std::chrono::nanoseconds(1));
      ended_as_asked =
          parts.cases[index].test_case.until_interrupted() && row.status == Row::Status::ok;
      count(row);
      parts.listener.row(row);
      return row.real_time_ns * 1e-9;
    } catch (const Interrupted&) {
      tally.interrupted = true;
    } catch (...) {
      broken = std::current_exception();
    }
    return 0.0;
  }

  /// Of the repetition that begins.
  RowPlace place_of(std::size_t index) {
    const std::string& name = parts.cases[index].name;
    earlier.repeated.resize(parts.cases.size());
    const std::uint64_t repetition = earlier.repeated[index]++;
    if (until == nullptr)
      parts.listener.begin(name, earlier.begun++, all);
    else
      parts.listener.begin(fmt::format("{} ({})", name, repetition + 1), index, parts.cases.size());
    const std::uint64_t before = repetition / repetitions * repetitions;  // of earlier rounds
    return {parts.cases[index], index, repetition, before + repetitions};
  }

  void settle(Progress& its, Row& row, double spent_ns) {
    constexpr unsigned kFailures = 3;
    its.spent_ns += spent_ns;
    its.failures = row.status == Row::Status::error ? its.failures + 1 : 0;
    its.ended |= !unusable.empty() || its.failures == kFailures;
    if (row.status == Row::Status::ok && !row.interrupted) {
      if (!its.settling) its.settling.emplace(*until);
      row.until = its.settling->add(row, its.spent_ns);
      its.ended |= row.until.has_value();
    }
    const std::uint64_t repeated = row.repetition + 1;
    its.ended |= repeated == repetitions;
    if (its.ended) row.repetitions = repeated;
  }

  Row measure(const RowPlace& place) {
    using enum Row::Status;
    if (!place.planned.why_skipped.empty())
      return unmeasured_row(place, skipped, place.planned.why_skipped);
    if (!unusable.empty()) return unmeasured_row(place, error, "not measured: " + unusable);
    try {
      const Background* const background = place.planned.background.get();
      parts.measurer.set_background(background == nullptr ? nullptr : &background->test_case);
      if (!place.planned.test_case.needs_responder()) parts.measurer.say_alive();
      return measured_row(place, parts.measurer.measure(place.planned.test_case));
    } catch (const Interrupted&) {
      throw;
    } catch (const Unsupported& why) {
      return unmeasured_row(place, skipped, why.what());
    } catch (const std::exception& why) {
      if (parts.stop.reason() == StopReason::interrupted) throw Interrupted(error_text(why));
      return failed(place, error_text(why));
    }
  }

  Row failed(const RowPlace& place, const std::string& why) {
    const ExitStatus status = status_of(std::current_exception());
    tally.failure = tally.failed == 0 || tally.failure == status ? status : ExitStatus::failed;
    if (!parts.measurer.usable()) unusable = why;
    return unmeasured_row(place, Row::Status::error, why);
  }

  void count(const Row& row) {
    switch (row.status) {
      case Row::Status::ok:
        ++tally.measured;
        if (row.topology && !row.topology->failed_pairs.empty()) ++tally.incomplete;
        break;
      case Row::Status::error:
        ++tally.failed;
        break;
      case Row::Status::skipped:
        ++tally.skipped;
        break;
    }
  }
};

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
  Run run{parts, flags.repetitions, before, parts.cases.size() * flags.repetitions};
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
  Run run{parts, round.repetitions, earlier, all};
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
  Run run{parts, until.repetitions, none, parts.cases.size(), &until};
  for (std::size_t index = range.first; index < range.first + range.count; ++index)
    while (!run.ended(index)) run.repeat(index);
  return run.finish();
}

}  // namespace rdmameter
