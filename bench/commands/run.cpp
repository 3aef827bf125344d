// SPDX-License-Identifier: Apache-2.0
// rdmameter run: from options to rows.
#include <algorithm>
#include <memory>
#include <random>
#include <span>
#include <utility>

#include "bench/cases/cases.h"
#include "bench/cases/dry_run.h"
#include "bench/doctor/examination_text.h"
#include "bench/options/command.h"
#include "bench/options/run_options.h"
#include "bench/running/benchmark_flags.h"
#include "bench/running/lines/run_output.h"
#include "bench/running/measurers.h"
#include "bench/running/result_context.h"
#include "bench/running/runner.h"
#include "core/base/error.h"
#include "core/instrument/clock.h"
#include "core/log/print.h"
#include "core/result/output_file.h"
#include "reports/figures/ablation.h"
#include "reports/figures/retransmit_stalls.h"
#include "reports/stats/sample.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr const char* kRunFooter =
    "'run --list' prints the tests, 'run --help AXIS' describes one axis,\n"
    "'run --help-all' all.\n\n"
    "Values: bytes or K, M, G (1024-based); seconds or a number with ns, us, ms, s.\n"
    "A..B doubles from A and always includes B; A..B:S steps by S. Every combination\n"
    "is measured; if one is impossible, its row is skipped and says why. An option\n"
    "that is on or off means on without a value: --verify. Google Benchmark's\n"
    "--benchmark_filter=REGEX, --benchmark_list_tests,\n"
    "--benchmark_enable_random_interleaving, --benchmark_context=KEY=VALUE work too.\n\n"
    "Examples:\n"
    "  rdmameter run --loopback write_lat\n"
    "  rdmameter run --loopback all --size 2..4K --transport rc,uc,ud -o result.json\n"
    "  rdmameter run 192.0.2.1 send_bw --qps 1..8 --duration 2 --repetitions 10\n"
    "  rdmameter run ssh://192.0.2.1 write_lat   starts the server there, by ssh\n"
    "  rdmameter run --hosts nodes.txt write_lat   each host in turn, one result\n"
    "  rdmameter run --device null write_lat     the tool's own cost, no device\n"
    "  rdmameter run --plan bench/plans/ci.toml 192.0.2.1 -o result.json\n"
    "  rdmameter run --dry-run '*_bw' --depth 1..128 --signal-every 1,16";

std::vector<PlannedCase> select_cases(const RunOptions& options, const BenchmarkFlags& flags) {
  std::vector<PlannedCase> cases = plan_cases(options.suites);
  if (!options.ablation.empty()) cases = in_design(cases, options.ablation);
  if (!options.backgrounds.empty()) cases = at_each_background(cases, options.backgrounds);
  if (!options.hosts.empty() && !options.hosts.front().name.empty())
    cases = at_each_host(cases, mapped(options.hosts, &RunTarget::name));
  std::erase_if(cases, [&](const PlannedCase& planned) { return !flags.selects(planned.name); });
  if (cases.empty()) throw UsageError("--benchmark_filter={} matches no case", flags.filter);
  return cases;
}

/// @throws UsageError  what is asked of Google Benchmark is not what `until` does
void set_repetitions(Until& until, const BenchmarkFlags& flags) {
  if (flags.repetitions < kMinUntilRepetitions)
    throw UsageError(
        "--until takes {} repetitions or more of each case: --repetitions, the most that it may "
        "take, is {}",
        kMinUntilRepetitions, flags.repetitions);
  if (flags.interleaved)
    throw UsageError(
        "--benchmark_enable_random_interleaving: --until repeats one case after the other");
  until.repetitions = flags.repetitions;
}

/// A host, its cases, and what measures them while it is open.
struct Place {
  const RunTarget& host;
  CaseRange range;
  std::unique_ptr<Measurer> measurer;
};

/// Hosts whose cases the filter left out have none.
std::vector<Place> places_of(const std::vector<RunTarget>& hosts,
                             const std::vector<PlannedCase>& cases) {
  std::vector<Place> places;
  std::size_t first = 0;
  for (const RunTarget& host : hosts) {
    const auto count = std::ranges::count(cases, host.name, &PlannedCase::host);
    if (count > 0) places.push_back({host, {first, static_cast<std::size_t>(count)}});
    first += static_cast<std::size_t>(count);
  }
  return places;
}

struct HostsRun {
  const RunOptions& options;
  const std::vector<PlannedCase>& cases;
  const BenchmarkFlags& flags;
  const Invocation& invocation;
  const std::uint64_t seed = std::random_device{}();  ///< of the order of an ablation
  const ClockChoice clock = choose_clock();
  std::vector<Place> places = places_of(options.hosts, cases);

  /// A run that cannot begin still has its result, with the reason in each row, except where the
  /// caller asked wrongly. Cases that are skipped anyway need no device, and those over TCP
  /// neither: they are measured without one.
  void open(Place& place) {
    if (place.measurer) return;
    const auto its_cases = std::span(cases).subspan(place.range.first, place.range.count);
    try {
      place.measurer = make_measurer(place.host, its_cases, clock, invocation.interrupt);
    } catch (const UsageError&) {
      throw;
    } catch (...) {
      place.measurer = std::make_unique<FailedMeasurer>(std::current_exception());
    }
  }

  /// The environments of several hosts. A server does not wait for as long as the hosts before it
  /// may take, so each but the first is left, and found again at its turn.
  Json responders() {
    auto all = Json::array();
    for (Place& place : places) {
      open(place);
      Json one{{"host", place.host.name}};
      if (const auto environment = place.measurer->responder_environment(); environment.is_object())
        one.update(environment);
      all.push_back(std::move(one));
      if (&place != &places.front()) place.measurer.reset();
    }
    return all;
  }

  Json context() {
    Json hosts;
    if (places.front().host.name.empty())
      open(places.front());
    else
      hosts = responders();
    Json about = result_context(invocation.command_line, options.plan.gates, flags, clock,
                                *places.front().measurer, std::move(hosts));
    // Its server does not wait for as long as the hosts after it may take; nor does this one.
    if (places.size() > 1) places.front().measurer.reset();
    if (!options.ablation.empty())
      about["rdmameter"]["ablation"] = ablation_json(options.ablation, seed);
    return about;
  }

  RunTally measure_all(RunOutput& output) {
    RunTally all;
    for (Place& place : places) {
      open(place);
      const RunParts parts{cases, *place.measurer, invocation.interrupt.word(), output};
      if (!options.ablation.empty())  // of one place
        all += run_interleaved(parts, flags.repetitions, seed);
      else
        all += options.until ? run_until(parts, place.range, *options.until)
                             : run_range(parts, place.range, flags);
      place.measurer.reset();
      if (all.interrupted) break;
    }
    return all;
  }

  ExitStatus measure() {
    check_writable(options.output);
    const Json about = context();
    if (options.hosts.front().kind != RunTarget::Kind::null_device) tell_worst_findings();
    if (const std::string warning = clock_warning(clock); !warning.empty())
      tell_lines("clock: {}\n", warning);
    RunOutput output(options.output, about, cases);
    using Rows = std::span<const Row>;
    if (options.loss_report)
      output.tell_at_the_end([&about](Rows rows, const TextStyle& style) {
        return rdmameter::loss_report(rows, about, style);
      });
    if (!options.ablation.empty())
      output.tell_at_the_end(
          [&](Rows rows, const TextStyle& style) { return ablation_text(about, rows, style); });
    return output.finish(measure_all(output));
  }
};

ExitStatus run(const RunOptions& typed, const Invocation& invocation) {
  if (typed.list) {
    print_text(for_stdout(catalog_text()));
    return ExitStatus::pass;
  }
  RunOptions options = completed(typed);
  const BenchmarkFlags flags =
      initialize_benchmark(invocation.benchmark_arguments, *options.repetitions);
  if (options.until) set_repetitions(*options.until, flags);
  if (!options.ablation.empty() && flags.repetitions < 2)
    throw UsageError("--ablate: repetitions are its replicates: --repetitions 2 or more");
  const std::vector<PlannedCase> cases = select_cases(options, flags);
  if (flags.list_tests) {
    for (const PlannedCase& planned : cases) print("{}\n", planned.name);
    return ExitStatus::pass;
  }
  if (options.dry_run) {
    const auto budget_ns = options.until ? std::optional(options.until->budget_ns) : std::nullopt;
    const DryRun would = dry_run(cases, flags.repetitions, budget_ns);
    print_text(for_stdout(would.text));
    return would.measures ? ExitStatus::pass : ExitStatus::usage;  // as the run would end
  }
  if (options.hosts.empty())
    throw UsageError(
        "say where the responder is: 'rdmameter run HOST {0}' where 'rdmameter serve' runs, or "
        "'rdmameter run --loopback {0}' to start it here",
        options.suites.front().tests.front()->name);
  return HostsRun{options, cases, flags, invocation}.measure();
}

}  // namespace

Action declare_run(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  declare_run_options(app, *options);
  app.footer(kRunFooter);
  return [options](const Invocation& invocation) { return run(*options, invocation); };
}

}  // namespace rdmameter
