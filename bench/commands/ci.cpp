// SPDX-License-Identifier: Apache-2.0
// rdmameter ci: measures a plan as often as its verdict needs, judges, and leaves every artefact.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "bench/child/child.h"
#include "bench/commands/ab.h"
#include "bench/commands/ab_variant.h"
#include "bench/commands/report.h"
#include "bench/doctor/examination_text.h"
#include "bench/options/command.h"
#include "bench/options/plan.h"
#include "bench/options/result_options.h"
#include "bench/options/token.h"
#include "core/base/error.h"
#include "core/log/print.h"
#include "core/result/output_file.h"
#include "reports/merge.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kRunsOfALook = 5;  // what a comparison of times needs on each side
constexpr std::uint64_t kLooksAtRuns = 2;
constexpr std::uint64_t kMaxRuns = 100;

struct CiArguments {
  std::string plan, base, base_binary, directory;
  std::optional<std::uint64_t> runs;
  std::vector<std::string> common;  ///< what `run` takes; once checked, the plan as well
  VerdictOptions verdict;
};

/// Where the artefacts are.
std::string artefact(const CiArguments& options, std::string_view name) {
  return std::filesystem::path(options.directory) / name;
}

/// What is there of an earlier job would be taken for one of this.
void prepare_directory(const CiArguments& options) {
  std::error_code error;
  std::filesystem::create_directories(options.directory, error);
  if (error)
    throw UsageError("--out {}: the directory cannot be created: {}", options.directory,
                     error.message());
  for (const char* name : {"new.json", "report.html", "junit.xml", "summary.md", "annotations.txt"})
    std::filesystem::remove(artefact(options, name), error);
}

/// Does the verdict rest on more than work? What repeats on every machine shows in a single run.
bool judges_times(const std::vector<std::string>& gates) {
  return gates.empty() ||
         std::ranges::any_of(gates, [](const std::string& gate) { return gate != "work"; });
}

/// What the commands write besides what they print. Their annotations are in a file, which is
/// printed once, when the last verdict has been reached.
void complete_verdict(CiArguments& options) {
  VerdictOptions& verdict = options.verdict;
  if (verdict.gates.empty()) verdict.gates = read_plan(options.plan).gates;
  if (verdict.junit.empty()) verdict.junit = artefact(options, "junit.xml");
  verdict.annotations = artefact(options, "annotations.txt");
}

struct Runs {
  std::vector<std::string> results;
  bool failed = false;  ///< a case of one
};

/// One run of the plan in a process of its own, which has its own memory and QPs.
void measure_run(const CiArguments& options, std::uint64_t all, const Invocation& invocation,
                 Runs& runs) {
  const std::size_t number = runs.results.size() + 1;
  const std::string output = artefact(options, fmt::format("run{}.json", number));
  std::error_code ignored;
  std::filesystem::remove(output, ignored);
  tell_lines("rdmameter: run {} of {}\n", number, all);
  Variables variables;
  if (number > 1) variables.emplace_back(kDoctorVariable, "off");  // the first run has told it
  const ExitResult end = run_child(read_side("a", "").command(options.common, {"-o", output}),
                                   variables, invocation.interrupt);
  const bool failed = end.status == static_cast<int>(ExitStatus::failed);
  if ((end.status != 0 && !failed) || !std::filesystem::exists(output))
    throw_ended(fmt::format("run {}", number), end.status,
                "after -- stands what 'run' takes besides the plan, such as -- HOST or "
                "-- --loopback");
  runs.results.push_back(output);
  runs.failed |= failed;
}

/// A side of `ab`: one word, in which a '/' says that it is a program.
std::string side_of_program(const std::string& path) {
  return shell_text({path.find('/') == path.npos ? "./" + path : path});
}

/// Against the base's program, block by block.
ExitStatus judge_programs(const CiArguments& options, const Invocation& invocation) {
  const std::string result = artefact(options, "new.json");
  const ExitStatus status = measure_and_compare({.a = side_of_program(options.base_binary),
                                                 .blocks = options.runs,
                                                 .output = result,
                                                 .common = options.common,
                                                 .verdict = options.verdict},
                                                invocation);
  write_report(
      {.files = {result}, .output = artefact(options, "report.html"), .how = options.verdict});
  return status;
}

ExitStatus judge_files(const CiArguments& options, const Runs& runs, const Invocation& invocation) {
  const std::string result = artefact(options, "new.json");
  const std::string merged =
      write_merged({.files = runs.results,
                    .output = result,
                    .command = invocation.command_line,
                    .allow_environment_change = options.verdict.allow_environment_change});
  print_lines("{}: {}\n", result, merged);
  const std::string page = artefact(options, "report.html");
  if (options.base.empty()) {
    write_report({.files = {result}, .output = page});
    if (runs.failed)  // a base without numbers would let every later job pass
      throw MeasurementError(
          "cases failed, as said above, so {} is no base. What was measured is in it", result);
    print_lines(
        "Nothing is judged without --base or --base-binary. {} can be a --base from now on, once "
        "it is kept elsewhere.\n",
        result);
    return options.verdict.inconclusive_ok ? ExitStatus::pass : ExitStatus::inconclusive;
  }
  std::error_code ignored;  // of the look before
  std::filesystem::remove(artefact(options, "summary.md"), ignored);
  const ExitStatus status = compare_results({options.base, result}, options.verdict);
  write_report({.files = {options.base, result}, .output = page, .how = options.verdict});
  return status;
}

/// Five runs; five more where these prove nothing. A run is enough where no time is judged.
ExitStatus judge_runs(const CiArguments& options, const Invocation& invocation) {
  const bool times = judges_times(options.verdict.gates);
  const std::uint64_t look = options.runs.value_or(times ? kRunsOfALook : 1);
  const bool again = !options.runs && times && !options.base.empty();
  Runs runs;
  ExitStatus status = ExitStatus::inconclusive;
  for (std::uint64_t looks = 1; looks <= (again ? kLooksAtRuns : 1); ++looks) {
    while (runs.results.size() < looks * look) measure_run(options, looks * look, invocation, runs);
    status = judge_files(options, runs, invocation);
    if (status != ExitStatus::inconclusive) break;
  }
  return status;
}

/// Empty: it was not written.
std::string text_of(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (file) text << file.rdbuf();
  return text.str();
}

void check(const CiArguments& options) {
  if (options.plan.empty()) throw UsageError("ci: --plan takes the plan to measure");
  if (options.directory.empty())
    throw UsageError("ci: --out takes the directory to write results and verdicts to");
  if (!options.base.empty() && !options.base_binary.empty())
    throw UsageError("ci: --base and --base-binary are two ways to know the base: give one");
  refuse_own_options("ci", options.common,
                     {{"-o,--output", "--out has the results"}, {"--plan", "give it before"}});
  if (!options.base_binary.empty() && access(options.base_binary.c_str(), X_OK) != 0)
    throw UsageError("--base-binary {}: cannot be executed: {}", options.base_binary,
                     std::strerror(errno));
  if (options.base.empty()) return;
  read_comparable(options.base);  // before minutes of measuring
  std::error_code ignored;
  const std::filesystem::path base = std::filesystem::canonical(options.base, ignored);
  const std::string name = base.filename();
  if (std::filesystem::equivalent(base.parent_path(), options.directory, ignored) &&
      (name == "new.json" || name.starts_with("run")))
    throw UsageError(
        "ci: --base {} is a file of --out {} that this run writes anew: it would be compared with "
        "itself. Keep the base elsewhere",
        options.base, options.directory);
}

ExitStatus ci(CiArguments options, const Invocation& invocation) {
  check(options);
  options.common.insert(options.common.end(), {"--plan", options.plan});
  const bool github = std::exchange(options.verdict.github, false);
  complete_verdict(options);
  prepare_directory(options);
  check_verdict_files(options.verdict);
  std::error_code ignored;  // an earlier job's verdict would be taken for this one's
  if (std::filesystem::is_regular_file(options.verdict.junit, ignored))
    std::filesystem::remove(options.verdict.junit, ignored);
  // Of several looks the last one's verdict is the whole's: it alone goes to the user's page.
  const std::string page = std::exchange(options.verdict.markdown, artefact(options, "summary.md"));
  const ExitStatus status = options.base_binary.empty() ? judge_runs(options, invocation)
                                                        : judge_programs(options, invocation);
  const std::string summary = text_of(options.verdict.markdown);
  if (!page.empty() && !summary.empty() &&
      !std::filesystem::equivalent(page, options.verdict.markdown, ignored))
    append_to_file(page, summary);
  if (github) print_text(text_of(options.verdict.annotations));
  return status;
}

}  // namespace

Action declare_ci(CLI::App& app) {
  const auto options = std::make_shared<CiArguments>();
  add_option(app, "--plan", options->plan, "FILE", "what to measure, and the gates");
  add_option(app, "--base", options->base, "FILE", "a result to compare with");
  add_option(app, "--base-binary", options->base_binary, "PATH",
             "the base's program: measured in turns with this one, as `ab` does");
  add_option(app, "--out", options->directory, "DIR",
             "where all files go: new.json, report.html, junit.xml, summary.md, annotations.txt");
  add_count(app, "--runs", options->runs,
            "runs to measure, or with --base-binary blocks. Default: as many as the verdict needs",
            1, kMaxRuns);
  add_flag(app, "--allow-environment-change", options->verdict.allow_environment_change,
           "compare what was measured on different devices, kernels, links...");
  add_option(app, "RUN", options->common, "", "after --: what 'run' takes besides the plan");
  declare_verdict_options(app, options->verdict);
  app.footer(
      "With --base one run where work is the only gate, else five, and five more\n"
      "where these prove nothing. With --base-binary the blocks that 'ab' takes.\n\n"
      "Exit status: 0 pass, 1 regression, 3 not proven (also without a base),\n"
      "99 without a base, where a case could not be measured.\n\n"
      "Examples:\n"
      "  rdmameter ci --plan ci.toml --base base.json --out results -- 192.0.2.1\n"
      "  rdmameter ci --plan ci.toml --base-binary old/rdmameter --out results \\\n"
      "    --github -- --loopback");
  return [options](const Invocation& invocation) { return ci(*options, invocation); };
}

}  // namespace rdmameter
