// SPDX-License-Identifier: Apache-2.0
#include "bench/options/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "bench/options/command.h"
#include "bench/options/help_text.h"
#include "bench/options/ssh_url.h"
#include "bench/options/token.h"
#include "bench/running/benchmark_flags.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"

namespace rdmameter {
namespace {

constexpr std::string_view kNullDevice = "null";

/// The axes that most people use, of about fifty.
constexpr std::array<std::string_view, 12> kCommonAxes{
    "transport", "size", "qps",        "bidirectional", "depth",  "inline",
    "connect",   "mtu",  "iterations", "duration",      "device", "gid-index"};

bool for_pattern(const Axis& axis, Pattern pattern) {
  return std::ranges::any_of(
      catalog(), [&](const Test& test) { return test.pattern == pattern && test.can_have(axis); });
}

std::string default_text(const Axis& axis) {
  const bool for_latency =
      for_pattern(axis, Pattern::ping_pong) || for_pattern(axis, Pattern::completion_latency);
  if (!for_latency && for_pattern(axis, Pattern::open_loop) &&
      !for_pattern(axis, Pattern::bandwidth))
    return fmt::format("Default: {} (open loop only)", axis.latency_default);
  if (!for_latency)
    return fmt::format(
        "Default: {} ({})", axis.bandwidth_default,
        for_pattern(axis, Pattern::bandwidth) ? "not for latencies" : "control path only");
  if (axis.latency_default == axis.bandwidth_default)
    return fmt::format("Default: {}", axis.latency_default);
  return fmt::format("Default: {}, for latencies {}", axis.bandwidth_default, axis.latency_default);
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
    throw UsageError("--device null and other devices: give one, and run the others separately");
  return null > 0;
}

/// A lone positional that is no test is rather a misspelled one than a host, unless a plan names
/// the tests.
bool begins_with_host(const RunOptions& options) {
  return !options.positionals.empty() && !names_test(options.positionals.front()) &&
         (options.positionals.size() > 1 || !options.plan.empty() ||
          options.positionals.front().starts_with(kSshScheme));
}

/// Of a server elsewhere, and of one that is started.
void check_host_options(const RunOptions& options, bool by_ssh) {
  if (!by_ssh && options.ssh_command)
    throw UsageError("--ssh-command is for a HOST that begins with ssh://");
  if (!by_ssh && options.remote_program)
    throw UsageError("--remote-program is for a HOST that begins with ssh://");
  if (by_ssh && options.port)
    throw UsageError(
        "--port: a server that ssh starts chooses its port; that of ssh is in ssh://HOST:PORT");
  if (by_ssh && !options.token_file.empty())
    throw UsageError("--token-file: a server that ssh starts has a token of its own");
}

/// The host that the command line begins with.
void set_host(RunRequest& request, const RunOptions& options) {
  const std::string& host = options.positionals.front();
  if (host.starts_with(fmt::format("{}=", kTokenVariable)))
    throw UsageError(
        fmt::format("{0} must not be an argument, which other users could read: put it into the "
                    "environment, as in `{0}=... rdmameter run HOST TEST`",
                    kTokenVariable));
  request.target = {.kind = RunTarget::Kind::host};
  if (host.starts_with(kSshScheme)) {
    request.remote = remote_start(host, options.ssh_command.value_or("ssh"),
                                  options.remote_program.value_or("rdmameter"));
    return;
  }
  const std::string port = options.port.value_or(std::to_string(kDefaultPort));
  request.target->server =
      parse_address(host, static_cast<std::uint16_t>(read_option("--port", port, 1, 65535)));
  request.target->token = read_token(options.token_file);
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

std::string MeasuringOptions::output_file() const {
  if (output == "") throw UsageError("-o takes the name of a file, or - for stdout");
  return output.value_or("");
}

std::uint64_t MeasuringOptions::repetition_count(std::uint64_t unless_given) const {
  return repetitions ? read_option("--repetitions", *repetitions, 1, kMaxRepetitions)
                     : unless_given;
}

void declare_output_options(CLI::App& app, MeasuringOptions& options) {
  add_option(app, "-o,--output", options.output, "FILE",
             "write the result, as JSON, here; -: to stdout");
  add_option(app, "--repetitions", options.repetitions, "N",
             "measure each case N times, each time with new QPs and buffers; take 10 or more to "
             "compare results. Default: 1");
}

void declare_run_options(CLI::App& app, RunOptions& options) {
  add_option(
      app, "TEST", options.positionals, "",
      "first, unless --loopback is given, HOST or HOST:PORT, where `rdmameter serve` runs, or "
      "ssh://[USER@]HOST[:PORT], where it is started by ssh for this run; "
      "then tests: names, globs, or all");
  app.add_flag("--loopback", options.loopback, help_text("start the responder here, for this run"));
  app.add_flag("--list", options.list, help_text("print the tests, and exit"));
  app.add_flag(
      "--dry-run", options.dry_run,
      help_text("print the cases, the memory that they need and, where it is known, their time; "
                "measure nothing"));
  declare_output_options(app, options);
  app.add_flag("--overwrite-file", options.overwrite_file,
               help_text("let --memory file:PATH map files on DAX or hugetlbfs, too: messages "
                         "overwrite their content"));
  add_option(app, "--plan", options.plan, "FILE",
             "a TOML file with tests, axes, repetitions and gates; the command line "
             "overrides it");
  add_option(app, "--port", options.port, "N",
             fmt::format("TCP port of HOST. Default: {}", kDefaultPort));
  add_option(app, "--ssh-command", options.ssh_command, "WORDS",
             "for ssh://: ssh's name and options, as in 'ssh -i KEY'. Default: ssh");
  add_option(app, "--remote-program", options.remote_program, "PATH",
             "for ssh://: rdmameter's name or path on HOST. Default: rdmameter");
  add_option(app, "--token-file", options.token_file, "FILE", kTokenFileHelp);
  app.set_help_all_flag("--help-all", help_text("print this help with every axis, and exit"));
  for (const Axis& axis : axes()) options.axes.axes.push_back(&axis);
  options.axes.common = kCommonAxes;
  declare_axes(app, options.axes, default_text);
}

RunRequest interpret(const RunOptions& options) {
  RunRequest request;
  const std::vector<GivenAxis> given = given_axes(options.axes);
  request.output = options.output_file();
  const Plan plan = options.plan.empty() ? Plan{} : read_plan(options.plan);
  request.gates = plan.gates;
  request.repetitions = options.repetition_count(plan.repetitions.value_or(1));

  std::span<const std::string> tests = options.positionals;
  if (null_device(suites_of(plan, {}, given))) {
    request.target = {.kind = RunTarget::Kind::null_device};
  } else if (options.loopback) {
    request.target = {.kind = RunTarget::Kind::loopback};
  } else if (begins_with_host(options)) {
    set_host(request, options);
    tests = tests.subspan(1);
  }
  check_host_options(options, request.remote.has_value());
  if (request.target && options.overwrite_file) request.target->files = FileMemory::overwrite;
  request.suites = suites_of(plan, select_tests(tests), given);
  if (request.suites.front().tests.empty())
    throw UsageError(
        "name at least one test, or all ('rdmameter run --list' prints them), or a --plan");
  return request;
}

}  // namespace rdmameter
