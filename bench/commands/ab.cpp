// SPDX-License-Identifier: Apache-2.0
// rdmameter ab: two programs, libraries or option sets, measured in turns and compared.
#include "bench/commands/ab.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string_view>

#include "bench/child/child.h"
#include "bench/commands/ab_variant.h"
#include "bench/doctor/examination_text.h"
#include "bench/options/command.h"
#include "bench/options/result_options.h"
#include "bench/running/status_line.h"
#include "core/base/error.h"
#include "core/base/lists.h"
#include "core/base/parse_value.h"
#include "core/log/print.h"
#include "core/result/output_file.h"
#include "core/result/result_file.h"
#include "core/wire/wait.h"
#include "reports/compare/output.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

// Both sides of `ab` in one measuring run. A block is one case on both sides, one right after the
// other in an order that is drawn, each in a process of its own with new QPs: drift cancels within
// a block, and any other disturbance falls on either side by chance.

struct AbPlan {
  const AbArguments& options;
  const Invocation& invocation;
  std::array<Variant, 2> sides;     ///< A and B
  std::vector<std::string> common;  ///< what `run` is told on both sides
  /// Blocks of each case after which a look decides what is still open; ascending. The last is all.
  std::vector<std::uint64_t> looks;
};

/// A directory of its own, gone with the object.
class ScratchDirectory {
 public:
  ScratchDirectory() {
    std::string pattern = std::filesystem::temp_directory_path() / "rdmameter-ab-XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr)
      throw MeasurementError("{}: cannot be created", pattern);
    path_ = pattern;
  }
  ~ScratchDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchDirectory(ScratchDirectory&&) = delete;
  std::string file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

[[noreturn]] void fail(const Variant& side, int status) {
  throw_ended("side " + upper_case(side.letter), status,
              fmt::format("mend --{}, or what stands after --, such as -- HOST TEST", side.letter));
}

/// --benchmark_filter for this name and no other. Its characters are those of a POSIX extended
/// regular expression, in which the name's own must stand for themselves.
std::string filter_of(std::string_view name) {
  std::string pattern;
  for (const char c : name) {
    if (std::string_view("\\.[]()*+?{}|^$").find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return fmt::format("--benchmark_filter=^({})$", pattern);
}

/// What of one case one side measures once, in a process of its own.
ResultFile measure_once(const AbPlan& plan, const Variant& side, const std::string& filter) {
  const ScratchDirectory scratch;
  const std::string output = scratch.file("block.json");
  auto variables = side.variables;
  variables.emplace_back(kDoctorVariable, "off");  // not before each of many measurements
  const ExitResult end =
      run_child(side.command(plan.common, {"--repetitions", "1", "-o", output, filter}), variables,
                plan.invocation.interrupt);
  const bool measured = end.status == 0 || end.status == static_cast<int>(ExitStatus::failed);
  if (!measured || !std::filesystem::exists(output)) fail(side, end.status);
  return read_result(output);
}

Json context_of(const AbPlan& plan, Json context) {
  context["rdmameter"]["command"] = plan.invocation.command_line;
  context["rdmameter"]["ab"] = {{"a", plan.sides[0].text},
                                {"b", plan.sides[1].text},
                                {"aa", plan.options.against_itself},
                                {"looks", plan.looks}};
  return context;
}

/// For each case of one side, in order, what makes a process measure it alone.
/// @throws UsageError, as `run` ends with it
std::vector<std::string> filters_of_side(const AbPlan& plan, const Variant& side) {
  const ExitResult end = run_child(side.command(plan.common, {"--benchmark_list_tests"}),
                                   side.variables, plan.invocation.interrupt);
  if (end.status != 0) fail(side, end.status);
  return mapped(text_lines(end.output), filter_of);
}

/// One case of both sides.
struct AbCase {
  std::size_t index;
  std::array<std::string, 2> filters;  ///< by side
};

/// What too few blocks cannot show is said before they are measured.
std::vector<AbCase> cases_of(const AbPlan& plan) {
  const auto a = filters_of_side(plan, plan.sides[0]), b = filters_of_side(plan, plan.sides[1]);
  if (a.size() != b.size())
    throw UsageError(
        "side A measures {} cases, side B {}: give each side one value for what "
        "differs, so that every case has its counterpart",
        a.size(), b.size());
  const std::string remark =
      power_remark(plan.looks.back(), a.size(), Replication::blocks, plan.looks.size());
  if (!remark.empty()) tell_lines("rdmameter: {}\n", remark);
  std::vector<AbCase> cases;
  for (std::size_t i = 0; i < a.size(); ++i) cases.push_back({i, {a[i], b[i]}});
  return cases;
}

/// Leaves those with these indexes.
void keep_only(std::vector<AbCase>& cases, const std::set<std::size_t>& indexes) {
  std::erase_if(cases, [&](const AbCase& one) { return !indexes.contains(one.index); });
}

struct BlockMeasurement {
  const AbPlan& plan;
  const std::string& output;
  std::vector<Row> unwritten;  ///< of A, before B's first
  std::mt19937 engine{std::random_device{}()};
  std::optional<ResultWriter> writer;  ///< from the first of B on
  std::array<bool, 2> measured{};

  /// Both sides of a case, one after the other. The order is drawn, so that whatever disturbs the
  /// machine meets either side alike, periodic or not.
  void measure_block(const AbCase& one, std::uint64_t block) {
    const std::size_t first = engine() & 1;
    for (const std::size_t side : {first, 1 - first}) {
      ResultFile result = measure_once(plan, plan.sides[side], one.filters[side]);
      // Whichever side is first, the file's context, with the plan's gates, is B's: that of NEW.
      if (!writer && side == 1) writer.emplace(output, context_of(plan, result.context));
      for (Row& row : result.rows) {
        measured[side] |= row.status != Row::Status::error;
        row.extra["side"] = plan.sides[side].letter;
        row.family_index = one.index;
        row.repetition = block;
        row.repetitions = plan.looks.back();
        unwritten.push_back(std::move(row));
      }
      if (!writer) continue;
      for (const Row& row : unwritten) writer->append(row);
      unwritten.clear();
    }
  }

  /// @throws MeasurementError  a side has measured nothing at all: its peer is missing
  void check_sides() const {
    for (const std::size_t side : {0U, 1U})
      if (!measured[side]) fail(plan.sides[side], static_cast<int>(ExitStatus::failed));
  }
};

/// Which block is measured: at a terminal in one line, in a log at first and once a minute.
/// @param next_s  in a log: when it is told again
void tell_block(std::uint64_t block, std::uint64_t all, std::size_t cases, double now_s,
                double& next_s) {
  if (stderr_is_interactive()) {
    tell("\r\033[Kblock {} of {}, {}", block + 1, all, count_text(cases, "case"));
  } else if (now_s >= next_s) {
    next_s = now_s + kLogPause_s;
    tell("rdmameter: block {} of {}, {}, {} elapsed\n", block + 1, all, count_text(cases, "case"),
         clock_text(now_s));
  }
}

/// Indexes of the cases that are measured further.
using OpenCases = std::function<std::set<std::size_t>()>;

/// Measures and writes a result that holds both sides; it is valid after each block.
/// @param open  asked after each look but the last; none: there is one look
/// @throws NoDevice, UsageError, MeasurementError, Interrupted  as the processes end
void measure_sides(const AbPlan& plan, std::vector<AbCase> cases, const std::string& output,
                   const OpenCases& open = {}) {
  using Clock = std::chrono::steady_clock;
  const auto began = Clock::now();
  const std::chrono::nanoseconds budget(plan.options.budget_ns);
  const auto spent = [&] { return budget.count() > 0 && Clock::now() - began > budget; };
  BlockMeasurement measurement{plan, output};
  double next_told_s = 0;
  std::uint64_t block = 0;
  for (const std::uint64_t look : plan.looks) {
    for (; block < look && !spent(); ++block) {
      tell_block(block, look, cases.size(), seconds_since(began), next_told_s);
      for (const AbCase& one : cases) measurement.measure_block(one, block);
      measurement.check_sides();
    }
    if (spent() || look == plan.looks.back()) break;
    keep_only(cases, open());
    if (cases.empty()) break;
  }
  if (stderr_is_interactive()) tell("\r\033[K");
  if (block == 0) throw UsageError("--budget: it was spent before the first block; give more");
  measurement.writer->finish();
}

constexpr std::uint64_t kMaxBlocks = 1000;
/// Each look is an opportunity to be wrong, so that they share the error rate: few of them.
const std::vector<std::uint64_t> kLooks = {12, 18, 27, 40};
constexpr std::uint64_t kMaxBudgetNs = 7ULL * 24 * 3600 * 1'000'000'000;

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
  refuse_own_options("ab", options.common,
                     {{"-o,--output", "give -o before it, for the rows of both sides"},
                      {"--repetitions", "--blocks says how often each case is measured"}});
  AbPlan plan{.options = options,
              .invocation = invocation,
              .sides = {read_side("a", options.a),
                        read_side("b", options.against_itself ? options.a : options.b)},
              .common = options.common,
              .looks = options.blocks ? std::vector{*options.blocks} : kLooks};
  for (const std::string& argument : invocation.benchmark_arguments)
    if (argument.starts_with("--benchmark_repetitions"))
      throw UsageError("ab: {}: --blocks says how often each case is measured", argument);
  plan.common.insert(plan.common.end(), invocation.benchmark_arguments.begin(),
                     invocation.benchmark_arguments.end());
  return plan;
}

/// Writes the file again, with the noise of its rows in its context.
void record_noise(const std::string& path, const Comparable& measured) {
  ResultFile file = read_result(path);
  Json noise = Json::object();
  for (const auto& [name, of_case] : noise_of(measured))
    noise[name] = {{"between_runs", of_case.between_runs}, {"beyond", of_case.beyond}};
  file.context["rdmameter"]["noise"] = noise;
  ResultWriter writer(path, file.context, Replacing::when_finished);
  for (const Row& row : file.rows) writer.append(row);
  writer.finish();
}

bool doubtful(const CaseComparison& test_case) {
  return !test_case.effects.empty() &&
         (test_case.verdict == CaseVerdict::fail || test_case.verdict == CaseVerdict::suspect);
}

/// Indexes, among the cases that are measured, of those that are so, or a part of which is.
std::set<std::size_t> measured_cases(const Comparison& comparison, const Comparable& measured,
                                     const auto& is_so) {
  std::set<std::size_t> indexes;
  const std::vector<ComparableCase>& cases = measured.sides[1];
  for (std::size_t i = 0; i < cases.size(); ++i)
    for (const CaseComparison& one : comparison.cases)
      if (one.name == cases[i].name && is_so(one))
        indexes.insert(cases[i].part ? cases[i].whole : i);
  return indexes;
}

/// Indexes of the cases that are suspect or inconclusive so far, where the gates ask
/// for their times.
std::set<std::size_t> open_cases(const std::string& output, const VerdictOptions& verdict,
                                 const ComparisonOptions& how) {
  Comparable measured = read_comparable(output);
  add_noise(verdict, measured);
  const Comparison comparison = compare_sides(measured, how);
  return measured_cases(comparison, measured, [&](const CaseComparison& one) {
    return comparison.gated(one) && is_open(one.verdict);
  });
}

/// Fresh blocks of what looks worse alone decide about it: luck does not strike twice.
Comparison confirm(const AbPlan& plan, std::vector<AbCase> cases, const Comparison& first,
                   const Comparable& measured, const ComparisonOptions& how) {
  const auto breaks = [](const GateFinding& gate, const std::string& name) {
    return gate.gate != "work" && gate.verdict == CaseVerdict::fail && gate.name == name;
  };
  const std::set<std::size_t> again = measured_cases(first, measured, [&](const auto& one) {
    return doubtful(one) || std::ranges::any_of(first.gates, [&](const GateFinding& gate) {
             return breaks(gate, one.name);
           });
  });
  if (again.empty()) return first;
  print_lines("{}\n  Measured again, to confirm: {} of them.\n\n", tally_text(first), again.size());
  flush_print();
  const std::string& asked = plan.options.output;
  std::optional<ScratchDirectory> scratch;
  const std::string output =
      asked.empty() ? scratch.emplace().file("result.json") : asked + ".confirm.json";
  AbPlan fresh = plan;
  fresh.looks = {plan.looks.front()};
  keep_only(cases, again);
  measure_sides(fresh, std::move(cases), output);
  Comparable measured_again = read_comparable(output);
  add_noise(plan.options.verdict, measured_again);
  ComparisonOptions times = how;
  times.gates = {"times"};
  for (const GateFinding& gate : first.gates)
    for (const ComparableCase& one : measured_again.sides[1])
      if (breaks(gate, one.name)) add_once(times.gates, gate.gate);
  return replaced_by(first, compare_sides(measured_again, times));
}

/// A measurement that failed is no verdict of either side; what the others tell is told
/// all the same.
ExitStatus with_failures(ExitStatus status, const Comparable& measured) {
  std::size_t failed = 0;
  for (const auto& side : measured.sides)
    for (const ComparableCase& test_case : side) failed += test_case.failures.size();
  if (failed == 0 || status == ExitStatus::regression) return status;
  tell_lines("rdmameter: {} measurements failed\n", failed);
  return ExitStatus::failed;
}

}  // namespace

ExitStatus measure_and_compare(const AbArguments& options, const Invocation& invocation) {
  const ComparisonOptions& how = options.verdict;
  check_writable(options.output);
  if (options.output == "-") throw UsageError("ab: -o takes the name of a file");
  check_verdict_files(options.verdict);
  const AbPlan plan = plan_of(options, invocation);
  const std::vector<AbCase> cases = cases_of(plan);
  std::optional<ScratchDirectory> scratch;  // where no file is asked for
  const std::string output =
      options.output.empty() ? scratch.emplace().file("result.json") : options.output;
  measure_sides(plan, cases, output, [&] { return open_cases(output, options.verdict, how); });
  Comparable measured = read_comparable(output);
  add_noise(options.verdict, measured);
  if (options.against_itself) record_noise(output, measured);
  const Comparison first = compare_sides(measured, how);
  const Comparison last = options.confirm ? confirm(plan, cases, first, measured, how) : first;
  return with_failures(write_verdict(last, options.verdict), measured);
}

Action declare_ab(CLI::App& app) {
  const auto options = std::make_shared<AbArguments>();
  add_option(app, "--a", options->a, "SIDE",
             "side A: [NAME=VALUE]... [PROGRAM] [options of run]; a PROGRAM has a / in it. "
             "Default: this program");
  add_option(app, "--b", options->b, "SIDE", "side B, in the same form");
  add_flag(app, "--aa", options->against_itself,
           "measure --a against itself, and record its noise for later comparisons");
  add_flag(app, "--confirm", options->confirm,
           "measure again the cases that look worse; fail only if they look worse again");
  add_count(app, "--blocks", options->blocks,
            "measure each case this many times on both sides; 12 can confirm a regression of one "
            "case among 100. Default: 12, then 18, 27 and 40 for the cases that are still suspect "
            "or inconclusive",
            1, kMaxBlocks);
  add_option(
      app, "--budget", options->budget_ns, "TIME",
      "begin no further block after this time, such as 600s. Default: no limit",
      [](const std::string& text) { return read_seconds_ns("--budget", text, 1, kMaxBudgetNs); });
  add_option(app, "-o,--output", options->output, "FILE",
             "write both sides' rows, as one result, here");
  add_option(app, "RUN", options->common, "", "after --: what 'run' takes, for both sides");
  declare_verdict_options(app, options->verdict);
  app.footer(
      "A block is a case on both sides, one after the other in an order that is drawn,\n"
      "each in a process of its own with new QPs: what drifts cancels within a block.\n"
      "Exit status: as 'compare'.\n\n"
      "Examples:\n"
      "  rdmameter ab --a '--inline off' --b '--inline max' -- --loopback write_lat\n"
      "  rdmameter ab --a ./old/rdmameter --b ./new/rdmameter -- 192.0.2.1 '*_bw'\n"
      "  rdmameter ab --b LD_LIBRARY_PATH=/opt/rdma-core/lib -- --loopback send_lat\n"
      "  rdmameter ab --aa -o noise.json -- --loopback write_lat --size 2..4K");
  return
      [options](const Invocation& invocation) { return measure_and_compare(*options, invocation); };
}

}  // namespace rdmameter
