// SPDX-License-Identifier: Apache-2.0
// rdmameter run: from options to rows.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "bench/cases/dry_run.h"
#include "bench/doctor/examination_text.h"
#include "bench/options/command.h"
#include "bench/options/run_options.h"
#include "bench/remote/remote_server.h"
#include "bench/running/benchmark_flags.h"
#include "bench/running/failed_measurer.h"
#include "bench/running/result_context.h"
#include "bench/running/run_output.h"
#include "bench/running/runner.h"
#include "core/base/error.h"
#include "core/log/print.h"

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
    "  rdmameter run --device null write_lat     the tool's own cost, no device\n"
    "  rdmameter run --plan bench/plans/ci.toml 192.0.2.1 -o result.json\n"
    "  rdmameter run --dry-run '*_bw' --depth 1..128 --signal-every 1,16";

std::vector<PlannedCase> select_cases(const RunRequest& request, const BenchmarkFlags& flags) {
  std::vector<PlannedCase> cases = plan_cases(request.suites);
  std::erase_if(cases, [&](const PlannedCase& planned) { return !flags.selects(planned.name); });
  if (cases.empty())
    throw UsageError(fmt::format("--benchmark_filter={} matches no case", flags.filter));
  return cases;
}

/// The server of a run that is to start one; of a run that needs no responder, none.
void start_server(std::optional<RemoteServer>& server, RunTarget& target, const RemoteStart& start,
                  const std::vector<PlannedCase>& cases, const InterruptSource& interrupt) {
  if (std::ranges::none_of(cases, [](const PlannedCase& planned) {
        return planned.why_skipped.empty() && planned.test_case.needs_responder();
      }))
    return;
  server.emplace(start, interrupt);
  target.server = server->address();
  target.token = server->token();
}

/// A run that cannot begin still has its result, with the reason in each row, except where the
/// caller asked wrongly. Cases that are skipped anyway need no device, and those over TCP neither:
/// they are measured without one.
/// @param server  out: that of ssh://, which must live as long as the measurer
std::unique_ptr<Measurer> open_measurer(const RunRequest& request,
                                        std::optional<RemoteServer>& server,
                                        const ClockChoice& clock, InterruptSource& interrupt,
                                        const std::vector<PlannedCase>& cases) {
  const auto tried = [](const PlannedCase& planned) { return planned.why_skipped.empty(); };
  if (std::ranges::none_of(cases, tried)) return std::make_unique<FailedMeasurer>(nullptr);
  try {
    RunTarget target = *request.target;
    if (request.remote) start_server(server, target, *request.remote, cases, interrupt);
    return make_measurer(target, cases, clock, interrupt);
  } catch (const UsageError&) {
    throw;
  } catch (...) {
    return std::make_unique<FailedMeasurer>(std::current_exception());
  }
}

ExitStatus measure(const RunRequest& request, const std::vector<PlannedCase>& cases,
                   const BenchmarkFlags& flags, const Invocation& invocation) {
  check_writable(request.output);
  const ClockChoice clock = choose_clock();
  std::optional<RemoteServer> server;  // ends after the measurer has said bye
  const auto measurer = open_measurer(request, server, clock, invocation.interrupt, cases);
  if (request.target->kind != RunTarget::Kind::null_device) tell_worst_findings();
  RunOutput output(request.output,
                   result_context(invocation.command_line, request.gates, flags, clock, *measurer),
                   cases);
  const RunTally tally = run_cases(cases, flags, *measurer, invocation.interrupt.word(), output);
  output.finish(tally);
  return tally.status();
}

ExitStatus run(const RunOptions& options, const Invocation& invocation) {
  if (options.list) {
    print_text(catalog_text());
    return ExitStatus::pass;
  }
  const RunRequest request = interpret(options);
  const BenchmarkFlags flags =
      initialize_benchmark(invocation.benchmark_arguments, request.repetitions);
  const std::vector<PlannedCase> cases = select_cases(request, flags);
  if (flags.list_tests) {
    for (const PlannedCase& planned : cases) print("{}\n", planned.name);
    return ExitStatus::pass;
  }
  if (options.dry_run) {
    const DryRun would = dry_run(cases, flags.repetitions);
    print_text(would.text);
    return would.measures ? ExitStatus::pass : ExitStatus::usage;  // as the run would end
  }
  if (!request.target)
    throw UsageError(fmt::format(
        "say where the responder is: 'rdmameter run HOST {0}' where 'rdmameter serve' runs, or "
        "'rdmameter run --loopback {0}' to start it here",
        request.suites.front().tests.front()->name));
  return measure(request, cases, flags, invocation);
}

}  // namespace

Action declare_run(CLI::App& app) {
  const auto options = std::make_shared<RunOptions>();
  declare_run_options(app, *options);
  app.footer(kRunFooter);
  return [options](const Invocation& invocation) { return run(*options, invocation); };
}

}  // namespace rdmameter
