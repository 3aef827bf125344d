// SPDX-License-Identifier: Apache-2.0
// rdmameter ab: two programs, libraries or option sets, measured in turns and compared.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>

#include "bench/ab_run.h"
#include "bench/command.h"
#include "bench/comparison_options.h"
#include "bench/help_text.h"
#include "bench/run_output.h"
#include "core/error.h"
#include "reports/compare/output.h"
#include "reports/result_file.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kMostRepetitions = 1000;

struct AbArguments {
  std::string a, b, repetitions = "10", output;
  bool against_itself = false, confirm = false;
  std::vector<std::string> common;
  VerdictOptions verdict;
};

/// Where no file is asked for, the result lives as long as the comparison.
class OutputFile {
 public:
  explicit OutputFile(const std::string& asked) : path_(asked), kept_(!asked.empty()) {
    if (kept_) return;
    path_ = (std::filesystem::temp_directory_path() / "rdmameter-ab-XXXXXX").string();
    const int file = mkstemp(path_.data());
    if (file < 0) throw MeasurementError(fmt::format("{}: cannot be made", path_));
    close(file);
  }
  ~OutputFile() {
    std::error_code ignored;
    if (!kept_) std::filesystem::remove(path_, ignored);
  }
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  bool kept_;
};

AbPlan plan_of(const AbArguments& options, const Invocation& invocation) {
  if (options.against_itself && !options.b.empty())
    throw UsageError("--aa measures --a against itself: it takes no --b");
  if (!options.against_itself && options.a == options.b)
    throw UsageError(
        "--a and --b are the same: say what differs (a program, NAME=VALUE, options of 'run'), or "
        "give --aa to measure one against itself");
  if (options.common.empty())
    throw UsageError(
        "ab: after --, say what both sides measure: -- --loopback write_lat --size 64");
  AbPlan plan{.a = read_side("a", options.a),
              .b = read_side("b", options.against_itself ? options.a : options.b),
              .against_itself = options.against_itself,
              .common = options.common,
              .repetitions = read_option("--repetitions", options.repetitions, 1, kMostRepetitions),
              .command = invocation.command_line};
  plan.common.insert(plan.common.end(), invocation.benchmark_arguments.begin(),
                     invocation.benchmark_arguments.end());
  return plan;
}

/// What too few repetitions cannot show is said before they are measured.
void check_cases(const AbPlan& plan, const InterruptSource& interrupt) {
  const auto names = names_of_side(plan, plan.a, interrupt);
  const std::size_t other = names_of_side(plan, plan.b, interrupt).size();
  if (names.size() != other)
    throw UsageError(
        fmt::format("side A measures {} cases, side B {}: give each side one value for what "
                    "differs, so that every case has its counterpart",
                    names.size(), other));
  const std::string remark = power_remark(plan.repetitions, names.size(), Replication::repetitions);
  if (!remark.empty()) fmt::print(stderr, "rdmameter: {}\n", remark);
}

/// Writes the file anew, with the noise that its rows tell of in its context.
void record_noise(const std::string& path, const Comparable& measured) {
  ResultFile file = read_result(path);
  nlohmann::ordered_json noise = nlohmann::ordered_json::object();
  for (const auto& [name, of_case] : noise_of(measured))
    noise[name] = {{"between_runs", of_case.between_runs}, {"beyond", of_case.beyond}};
  file.context["rdmameter"]["noise"] = noise;
  const std::string aside = path + ".new";
  ResultWriter writer(aside, file.context);
  for (const Row& row : file.rows) writer.append(row);
  writer.finish();
  std::filesystem::rename(aside, path);
}

bool doubtful(const CaseComparison& one_case) {
  return !one_case.effects.empty() &&
         (one_case.verdict == CaseVerdict::fail || one_case.verdict == CaseVerdict::suspect);
}

/// Indexes, among the file's cases, of those that look worse.
std::vector<std::size_t> doubtful_cases(const Comparison& comparison, const Comparable& measured) {
  std::vector<std::size_t> indexes;
  for (std::size_t i = 0; i < measured.sides[1].size(); ++i)
    for (const CaseComparison& one_case : comparison.cases)
      if (one_case.name == measured.sides[1][i].name && doubtful(one_case)) indexes.push_back(i);
  return indexes;
}

/// Fresh repetitions of what looks worse alone decide about it: luck does not strike twice.
Comparison confirm(const AbPlan& plan, const AbArguments& options, const Comparison& first,
                   const Comparable& measured, const ComparisonOptions& how,
                   const InterruptSource& interrupt) {
  const std::vector<std::size_t> again = doubtful_cases(first, measured);
  if (again.empty()) return first;
  fmt::print("{}\n  Measured again, to confirm: {} of them.\n\n", tally_text(first), again.size());
  std::fflush(stdout);
  const OutputFile output(options.output.empty() ? "" : options.output + ".confirm.json");
  measure_sides(plan, again, output.path(), interrupt);
  ComparisonOptions times = how;
  times.gates.clear();
  return replaced_by(first, compare_sides(read_comparable(output.path()), times));
}

/// A measurement that failed is no verdict of either side; what the others tell is told all the
/// same.
ExitStatus with_failures(ExitStatus status, const Comparable& measured) {
  std::size_t failed = 0;
  for (const auto& side : measured.sides)
    for (const ComparableCase& one_case : side) failed += one_case.errors.size();
  if (failed == 0 || status == ExitStatus::regression) return status;
  fmt::print(stderr, "rdmameter: {} measurements failed\n", failed);
  return ExitStatus::failed;
}

ExitStatus ab(const AbArguments& options, const Invocation& invocation) {
  const ComparisonOptions how = read_verdict_options(options.verdict);
  check_writable(options.output);
  if (options.output == "-") throw UsageError("ab: -o takes the name of a file");
  check_verdict_files(options.verdict);
  const AbPlan plan = plan_of(options, invocation);
  check_cases(plan, invocation.interrupt);
  const OutputFile output(options.output);
  measure_sides(plan, {}, output.path(), invocation.interrupt);
  Comparable measured = read_comparable(output.path());
  add_noise(options.verdict, measured);
  if (plan.against_itself) record_noise(output.path(), measured);
  const Comparison first = compare_sides(measured, how);
  const Comparison last =
      options.confirm ? confirm(plan, options, first, measured, how, invocation.interrupt) : first;
  return with_failures(tell(last, options.verdict), measured);
}

}  // namespace

Action declare_ab(CLI::App& app) {
  const auto options = std::make_shared<AbArguments>();
  app.add_option(
         "--a", options->a,
         help_text("the one side: [NAME=VALUE]... [PROGRAM] [options of run]; a PROGRAM has "
                   "a / in it. Default: this program"))
      ->type_name("SIDE");
  app.add_option("--b", options->b, "the other side")->type_name("SIDE");
  app.add_flag("--aa", options->against_itself,
               help_text("measure --a against itself, and record its noise for later comparisons"));
  app.add_flag("--confirm", options->confirm,
               help_text("measure again what looks worse; it fails if it does so again"));
  app.add_option("--repetitions", options->repetitions, help_text("of each side. Default: 10"))
      ->type_name("N");
  app.add_option("-o,--output", options->output,
                 help_text("write both sides' rows, as one result, here"))
      ->type_name("FILE");
  app.add_option("RUN", options->common, "after --: what 'run' takes, for both sides")
      ->type_name("");
  declare_verdict_options(app, options->verdict);
  app.footer(
      "Repetitions alternate, A B B A A B B A..., each in a process of its own with new\n"
      "QPs, so that what drifts meets both sides alike. Exit status: as 'compare'.\n\n"
      "Examples:\n"
      "  rdmameter ab --a '--inline off' --b '--inline max' -- --loopback write_lat\n"
      "  rdmameter ab --a ./old/rdmameter --b ./new/rdmameter -- 192.0.2.1 '*_bw'\n"
      "  rdmameter ab --b LD_LIBRARY_PATH=/opt/rdma-core/lib -- --loopback send_lat\n"
      "  rdmameter ab --aa -o noise.json -- --loopback write_lat --size 2..4K");
  return [options](const Invocation& invocation) { return ab(*options, invocation); };
}

}  // namespace rdmameter
