// SPDX-License-Identifier: Apache-2.0
#include "bench/options/run_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "bench/cases/cases.h"
#include "bench/options/command.h"
#include "bench/options/measuring_options.h"
#include "bench/options/plan.h"
#include "bench/options/run_hosts.h"
#include "core/base/error.h"
#include "core/base/lists.h"
#include "core/base/parse_value.h"
#include "reports/stats/factorial.h"

namespace rdmameter {
namespace {

/// Between which values an axis is judged where none are given.
constexpr std::pair<std::string_view, std::string_view> kUsualLevels[]{
    {"inline", "off,max"},      {"signal-every", "1,16"},
    {"post-list", "1,16"},      {"sge", "1,2"},
    {"memory", "host,huge"},    {"api", "classic,extended"},
    {"cq", "classic,extended"},
};

const Axis& factor_axis(std::string_view option) {
  const Axis* const axis = find_axis(option);
  if (axis == nullptr || option == "iterations" || option == "duration" || option == "transport")
    throw UsageError(
        "--ablate {}: it takes up to {} axes without their dashes, such as "
        "inline,signal-every,post-list,sge,memory; not transport, iterations or duration",
        option, kMaxFactors);
  return *axis;
}

std::vector<std::string> levels_in(std::vector<GivenAxis>& given, const Axis& axis) {
  if (const GivenAxis* const found = find_given(given, axis.option)) return found->values;
  for (const auto& [option, levels] : kUsualLevels)
    if (option == axis.option)
      return given.emplace_back(GivenAxis{&axis, read_axis_list(axis, levels)}).values;
  throw UsageError("--ablate {0}: give the two values to compare, as --{0} A,B", axis.option);
}

bool has_factor(const PlannedCase& planned, const AblationFactor& factor) {
  return std::ranges::find(planned.used, factor.axis->option) != planned.used.end();
}

/// What the cases of one experiment have in common: all but the factors.
std::string experiment_of(const PlannedCase& planned, const std::vector<AblationFactor>& factors) {
  TestCase common = planned.test_case;
  for (const AblationFactor& factor : factors) set_axis(common, *factor.axis, factor.levels[0]);
  return planned.test_case.test + case_to_wire(common).dump() + planned.host + planned.beside;
}

}  // namespace

std::vector<AblationFactor> read_ablation(const std::string& list, std::vector<Suite>& suites) {
  std::vector<AblationFactor> factors;
  for (const std::string_view name : split(list, ",")) {
    const Axis& axis = factor_axis(name);
    if (std::ranges::find(factors, &axis, &AblationFactor::axis) != factors.end())
      throw UsageError("--ablate: {} is there twice", axis.option);
    std::vector<std::string> levels;
    for (Suite& suite : suites) {
      std::vector<std::string> own = levels_in(suite.given, axis);
      if (!levels.empty() && own != levels)
        throw UsageError(
            "--ablate {0}: the plan's tests have different values of it: give --{0} A,B",
            axis.option);
      levels = std::move(own);
    }
    if (levels.size() != 2)
      throw UsageError("--ablate {0}: it compares two values, and --{0} has {1}", axis.option,
                       levels.size());
    factors.push_back({&axis, {levels[0], levels[1]}});
  }
  if (factors.size() > kMaxFactors)
    throw UsageError("--ablate: {} axes; it takes at most {}", factors.size(), kMaxFactors);
  return factors;
}

std::vector<PlannedCase> in_design(const std::vector<PlannedCase>& cases,
                                   const std::vector<AblationFactor>& factors) {
  std::map<std::string, std::vector<AblationFactor>> experiments;
  for (const PlannedCase& planned : cases) {
    auto& own = experiments[experiment_of(planned, factors)];
    if (!own.empty()) continue;
    own = filtered(factors, [&](const auto& factor) { return has_factor(planned, factor); });
    if (own.empty())
      throw UsageError("--ablate: none of its axes has a meaning for {}", planned.test_case.test);
  }
  std::vector<PlannedCase> chosen;
  for (const PlannedCase& planned : cases) {
    const auto& own = experiments[experiment_of(planned, factors)];
    FactorSet levels = 0;
    for (std::size_t i = 0; i < own.size(); ++i)
      if (axis_text(planned.test_case, *own[i].axis) == own[i].levels[1]) levels |= 1U << i;
    if (std::ranges::binary_search(factorial_design(own.size()), levels)) chosen.push_back(planned);
  }
  return chosen;
}

Json ablation_json(const std::vector<AblationFactor>& factors, std::uint64_t seed) {
  auto list = Json::array();
  for (const AblationFactor& factor : factors)
    list.push_back({{"axis", factor.axis->option}, {"levels", factor.levels}});
  return {{"factors", list}, {"seed", seed}};
}

namespace {

constexpr std::string_view kNullDevice = "null";

/// Replicates of each effect of --ablate.
constexpr std::uint64_t kAblateRepetitions = 10;

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
  bool null = false, real = false;
  for (const Suite& suite : suites) {
    const GivenAxis* const device = find_given(suite.given, "device");
    real = real || device == nullptr;
    if (device != nullptr)
      for (const std::string& name : device->values) {
        null = null || name == kNullDevice;
        real = real || name != kNullDevice;
      }
  }
  if (null && real)
    throw UsageError("--device null and other devices: give one, and run the others separately");
  return null;
}

/// A lone positional that is no test is rather a misspelled one than a host, unless a plan names
/// the tests.
bool begins_with_host(const RunOptions& options) {
  return !options.positionals.empty() && !names_test(options.positionals.front()) &&
         (options.positionals.size() > 1 || !options.plan.suites.empty() ||
          options.positionals.front().starts_with(kSshScheme));
}

/// The command line overrides the plan: its tests, and each of its axes.
std::vector<Suite> suites_of(const Plan& plan, const std::vector<const Test*>& tests,
                             const std::vector<GivenAxis>& given) {
  if (!tests.empty() || plan.suites.empty()) return {{tests, overlaid(plan.given, given)}};
  std::vector<Suite> suites = plan.suites;
  for (Suite& suite : suites) suite.given = overlaid(std::move(suite.given), given);
  return suites;
}

/// Without another host. @throws UsageError  hosts are named all the same
std::optional<RunTarget::Kind> local_target(const RunOptions& options) {
  std::optional<RunTarget::Kind> kind;
  if (options.host_options.loopback) kind = RunTarget::Kind::loopback;
  if (null_device(suites_of(options.plan, {}, options.given))) kind = RunTarget::Kind::null_device;
  if (!kind) return kind;
  if (!options.host_options.hosts.empty())
    throw UsageError("--hosts: with --loopback or --device null there is no other host");
  run_hosts({}, options.host_options);  // refuses what is for hosts alone
  for (const auto& [given, option] :
       {std::pair(options.host_options.port.has_value(), "--port"),
        std::pair(!options.host_options.token_file.empty(), "--token-file")})
    if (given) throw UsageError("{}: with --loopback or --device null there is no HOST", option);
  if (begins_with_host(options) &&
      options.positionals.front().find_first_of(".:") != std::string::npos)
    throw UsageError("'{}': with --loopback or --device null there is no HOST",
                     options.positionals.front());
  return kind;
}

/// Of the cases, or of what goes on beside them.
bool file_memory(const RunOptions& options) {
  const auto is_file = [](const std::string& memory) { return memory.starts_with(kFileMemory); };
  const auto of_suite = [&](const Suite& suite) {
    const GivenAxis* const memory = find_given(suite.given, "memory");
    return memory != nullptr && std::ranges::any_of(memory->values, is_file);
  };
  const auto of_background = [&](const auto& one) {
    return is_file(one->test_case.initiator.memory);
  };
  return std::ranges::any_of(options.suites, of_suite) ||
         std::ranges::any_of(options.backgrounds, of_background);
}

/// What the command line does not say the plan does. Repetitions that are typed rule the plan's
/// goals, too.
std::optional<Until> until_of(const RunOptions& options) {
  const Plan& plan = options.plan;
  const bool fixed = options.goals.empty() && options.repetitions;
  const std::optional<std::uint64_t> budget_ns =
      options.budget_ns || fixed ? options.budget_ns : plan.budget_ns;
  Until until{.goals = options.goals.empty() && !fixed ? plan.goals : options.goals,
              .repetitions = kMaxUntilRepetitions};
  if (budget_ns) until.budget_ns = *budget_ns;
  if (!until.goals.empty()) return until;
  if (budget_ns) throw UsageError("--budget: is for --until, which is not given");
  return std::nullopt;
}

}  // namespace

void declare_run_options(CLI::App& app, RunOptions& options) {
  add_option(
      app, "TEST", options.positionals, "",
      "first, unless --loopback is given, HOST or HOST:PORT, where `rdmameter serve` runs, or "
      "ssh://[USER@]HOST[:PORT], where it is started by ssh for this run; "
      "then tests: names, globs, or all");
  add_flag(app, "--loopback", options.host_options.loopback,
           "start the responder here, for this run");
  add_flag(app, "--list", options.list, "print the tests, and exit");
  add_flag(app, "--dry-run", options.dry_run,
           "print the cases, the memory that they need and, where it is known, their time; "
           "measure nothing");
  declare_output_option(app, options);
  declare_repetitions_option(app, options);
  add_flag(app, "--overwrite-file", options.overwrite_file,
           "let --memory file:PATH map files on DAX or hugetlbfs, too: messages "
           "overwrite their content");
  add_flag(app, "--loss-report", options.loss_report,
           "at the end, say what loss cost each latency: samples that waited for a "
           "timeout or after a NAK ('show --loss-report' says it of a file)");
  add_option(app, "--until", options.goals, "GOAL",
             "repeat each case, 20 times or more, until its median (of p50, or of bandwidth) is "
             "known to so many percent: 1%; or those of several metrics: p50=1%,p99=5%. "
             "--repetitions is the most then",
             read_until);
  add_option(app, "--budget", options.budget_ns, "TIME",
             "with --until: begin no further repetition of a case after TIME. Default: 60s",
             read_budget);
  add_option(app, "--ablate", options.ablate, "AXIS,AXIS...",
             "say what each of these axes, and each pair, is worth in ns: measure combinations of "
             "two values of each (those given, else the usual ones of inline, signal-every, "
             "post-list, sge, memory, api, cq) in a drawn order. --repetitions is 10 then, "
             "unless given");
  add_option(app, "--plan", options.plan, "FILE",
             "a TOML file with tests, axes, repetitions and gates; the command line overrides it",
             read_plan);
  add_option<std::vector<std::string>>(
      app, "--background", options.backgrounds, "'TEST --AXIS VALUE...'",
      "measure each case alone, and again while this test's traffic goes on beside it on QPs and "
      "threads of its own; may be given more than once, for one background after the other",
      read_backgrounds)
      ->allow_extra_args(false);
  add_option(app, "--hosts", options.host_options.hosts, "FILE",
             "measure with each HOST of this file, one after the other, in one result; a HOST on "
             "each line, # begins a comment");
  declare_host_options(app, options.host_options);
  app.set_help_all_flag("--help-all", "print this help with every axis, and exit");
  declare_axes(app, mapped(axes(), [](const Axis& axis) { return &axis; }), kCommonAxes,
               options.given, default_text);
}

RunOptions completed(RunOptions options) {
  const Plan& plan = options.plan;
  options.until = until_of(options);
  if (!options.repetitions)
    options.repetitions = (options.goals.empty() ? plan.repetitions : std::nullopt)
                              .value_or(options.until    ? kMaxUntilRepetitions
                                        : options.ablate ? kAblateRepetitions
                                                         : 1);
  if (options.ablate && options.until)
    throw UsageError("--ablate, --until: give one; --ablate has as many repetitions of each case");
  if (options.backgrounds.empty()) options.backgrounds = plan.backgrounds;

  std::span<const std::string> tests = options.positionals;
  const std::optional<RunTarget::Kind> local = local_target(options);
  if (local == RunTarget::Kind::null_device && !options.backgrounds.empty())
    throw UsageError("--background: the null device has no traffic that others could feel");
  if (local) {
    options.hosts = {{.kind = *local}};
  } else if (const std::string& list = options.host_options.hosts; !list.empty()) {
    options.hosts = run_hosts(read_host_list(list), options.host_options);
  } else {
    const std::size_t is_host = begins_with_host(options) ? 1 : 0;
    options.hosts = run_hosts(tests.first(is_host), options.host_options);
    tests = tests.subspan(is_host);
  }
  options.suites = suites_of(plan, select_tests(tests), options.given);
  if (options.overwrite_file && !file_memory(options))
    throw UsageError("--overwrite-file: is for --memory file:PATH, which is not given");
  for (RunTarget& host : options.hosts)
    if (options.overwrite_file) host.session.files = FileMemory::overwrite;
  if (options.suites.front().tests.empty())
    throw UsageError(
        "name at least one test, or all ('rdmameter run --list' prints them), or a --plan");
  if (options.ablate) {
    if (options.hosts.size() > 1) throw UsageError("--ablate: it measures with one HOST");
    options.ablation = read_ablation(*options.ablate, options.suites);
  }
  return options;
}

}  // namespace rdmameter
