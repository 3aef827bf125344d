// SPDX-License-Identifier: Apache-2.0
#include "bench/run_options.h"

#include <fmt/format.h>

#include <algorithm>

#include "bench/benchmark_flags.h"
#include "bench/command.h"
#include "bench/help_text.h"
#include "bench/token.h"
#include "core/error.h"
#include "core/parse_value.h"

namespace rdmameter {
namespace {

constexpr std::string_view kNullDevice = "null";

/// Has the axis a meaning for a latency test, over some transport, with several SGEs?
bool for_latency(const Axis& axis) {
  return std::ranges::any_of(catalog(), [&](const Test& test) {
    Case made = test.default_case();
    made.sge = 2;
    for (const Transport transport : {Transport::rc, Transport::ud}) {
      made.transport = static_cast<std::uint64_t>(transport);
      const bool latency = test.pattern != Pattern::bandwidth && test.pattern != Pattern::control;
      if (latency && axis.applies(made)) return true;
    }
    return false;
  });
}

std::string default_text(const Axis& axis) {
  if (!for_latency(axis))
    return fmt::format("Default: {} (not for latencies)", axis.bandwidth_default);
  if (axis.latency_default == axis.bandwidth_default)
    return fmt::format("Default: {}", axis.latency_default);
  return fmt::format("Default: {}, but for latencies {}", axis.bandwidth_default,
                     axis.latency_default);
}

/// The null device is no verbs device beside others: it decides how the whole run measures.
bool null_device(const std::vector<Suite>& suites) {
  std::size_t null = 0, real = 0;
  for (const Suite& suite : suites) {
    const auto device = std::ranges::find_if(
        suite.given, [](const GivenAxis& given) { return given.axis->option == "device"; });
    const bool given = device != suite.given.end();
    const auto named = given ? std::ranges::count(device->values, kNullDevice) : 0;
    null += static_cast<std::size_t>(named);
    real += given ? device->values.size() - static_cast<std::size_t>(named) : 1;
  }
  if (null > 0 && real > 0)
    throw UsageError("--device null stands alone: run it apart from real devices");
  return null > 0;
}

/// A lone positional that is no test is rather a misspelled one than a host, unless a plan names
/// the tests.
bool begins_with_host(const RunOptions& options) {
  return !options.positionals.empty() && !names_test(options.positionals.front()) &&
         (options.positionals.size() > 1 || !options.plan.empty());
}

/// The command line overrides the plan: its tests, and each of its axes.
std::vector<Suite> suites_of(const Plan& plan, const std::vector<const Test*>& tests,
                             const std::vector<GivenAxis>& given) {
  if (!tests.empty() || plan.suites.empty()) return {{tests, overlaid(plan.given, given)}};
  std::vector<Suite> suites = plan.suites;
  for (Suite& suite : suites) suite.given = overlaid(std::move(suite.given), given);
  return suites;
}

}  // namespace

void declare_run_options(CLI::App& app, RunOptions& options) {
  app.add_option(
         "TEST", options.positionals,
         help_text(
             "where `rdmameter serve` runs (HOST, HOST:PORT; not with --loopback), then tests: "
             "names, globs, or all"))
      ->type_name("");
  app.add_flag("--loopback", options.loopback, help_text("start the responder here, for this run"));
  app.add_flag("--list", options.list, help_text("print the tests there are, and end"));
  app.add_flag("--dry-run", options.dry_run,
               help_text("print the cases, their memory and what is known of their time, and end"));
  app.add_option("-o,--output", options.output,
                 help_text("write the result, as JSON, here; -: to stdout"))
      ->type_name("FILE");
  app.add_option("--plan", options.plan,
                 help_text("a TOML file with tests, axes, repetitions and gates; what the command "
                           "line says overrides it"))
      ->type_name("FILE");
  app.add_option("--port", options.port,
                 help_text(fmt::format("TCP port of HOST. Default: {}", kDefaultPort)))
      ->type_name("N");
  app.add_option("--token-file", options.token_file, help_text(kTokenFileHelp))->type_name("FILE");
  app.add_option(
         "--repetitions", options.repetitions,
         help_text(
             "measure each case this often, with new QPs and buffers; 10 or more where results "
             "are to be compared. Default: 1"))
      ->type_name("N");
  declare_axes(
      app, options.axes, [](const Axis& axis) { return !axis.of_topologies; }, default_text);
}

RunRequest interpret(const RunOptions& options) {
  RunRequest request;
  const std::vector<GivenAxis> given = given_axes(options.axes);
  if (options.output == "") throw UsageError("-o takes the name of a file, or - for stdout");
  request.output = options.output.value_or("");
  const Plan plan = options.plan.empty() ? Plan{} : read_plan(options.plan);
  request.gates = plan.gates;
  request.repetitions = plan.repetitions.value_or(1);
  if (options.repetitions)
    request.repetitions = read_option("--repetitions", *options.repetitions, 1, kMostRepetitions);

  std::span<const std::string> tests = options.positionals;
  const auto port = static_cast<std::uint16_t>(read_option("--port", options.port, 1, 65535));
  if (null_device(suites_of(plan, {}, given))) {
    request.target = {.kind = RunTarget::Kind::null_device};
  } else if (options.loopback) {
    request.target = {.kind = RunTarget::Kind::loopback};
  } else if (begins_with_host(options)) {
    request.target = {.kind = RunTarget::Kind::host,
                      .server = parse_address(tests.front(), port),
                      .token = read_token(options.token_file)};
    tests = tests.subspan(1);
  }
  request.suites = suites_of(plan, select_tests(tests), given);
  if (request.suites.front().tests.empty())
    throw UsageError(
        "name at least one test, or all ('rdmameter run --list' prints them), or a --plan");
  return request;
}

}  // namespace rdmameter
