// SPDX-License-Identifier: Apache-2.0
// rdmameter topo: several ranks, connected in several shapes.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>

#include "bench/axis_list.h"
#include "bench/axis_options.h"
#include "bench/benchmark_flags.h"
#include "bench/command.h"
#include "bench/failed_measurer.h"
#include "bench/help_text.h"
#include "bench/launch.h"
#include "bench/predict_option.h"
#include "bench/result_context.h"
#include "bench/run_output.h"
#include "bench/runner.h"
#include "core/error.h"
#include "core/parse_value.h"
#include "reports/text.h"
#include "reports/topology/topology_text.h"
#include "topologies/measurer.h"
#include "topologies/parcel.h"
#include "topologies/pmix_ranks.h"
#include "topologies/rank_plan.h"

namespace rdmameter {
namespace {

using std::chrono::milliseconds;

/// How long a rank whose peers are gone waits for rank 0 to end the run.
constexpr std::chrono::seconds kForRankZero{15};

constexpr std::uint64_t kManyRows = 200;  ///< from here on PMIx slows down a run that it carries
constexpr const char* kTopoFooter =
    "Run it under a launcher that speaks PMIx: mpirun or srun --mpi=pmix (prterun,\n"
    "too, but that is untested). With --ranks N alone it starts N ranks here, under\n"
    "mpirun. %l in --device is the rank's number on its machine.\n"
    "docs/topologies.md says what is measured.\n\n"
    "Examples:\n"
    "  rdmameter topo mesh ring --ranks 4 --size 8,4K -o topo.json\n"
    "  rdmameter topo mesh hypercube udmesh --ranks 8 --traffic alltoall --verify\n"
    "  mpirun -n 8 rdmameter topo mesh ring kring:2 --scale 2,4,8 -o topo.json\n"
    "  mpirun -n 4 rdmameter topo torus2d:2x2 --traffic neighbours --device rxe%l\n"
    "  srun --mpi=pmix -n 8 rdmameter topo mesh ring -o topo.json";

struct TopoOptions {
  std::vector<std::string> graphs;
  std::optional<std::string> output, ranks, scale;
  std::string repetitions = "1", patience = "60", predict;
  bool dry_run = false, list = false;
  AxisOptions axes;
};

/// Has the axis a meaning for some topology? The graph is what the positionals name, and the ranks
/// are one number.
bool for_topologies(const Axis& axis) {
  if (axis.option == "graph" || axis.option == "ranks") return false;
  for (const char* graph : {"mesh", "random:2", "udmesh"})
    for (const TrafficKind& kind : traffic_kinds())
      for (const Transport transport : {Transport::rc, Transport::uc}) {
        Case made = default_topology_case();
        made.transport = static_cast<std::uint64_t>(transport);
        set_axis(made, *find_axis("graph"), graph);
        made.traffic = kind.name;
        made.inflate = axis.option == "active" ? 2 : 0;
        if (axis.applies(made)) return true;
      }
  return false;
}

std::string default_text(const Axis& axis) {
  const std::string text =
      axis.option == "traffic" ? "pairs,alltoall" : axis_text(default_topology_case(), axis);
  return fmt::format("Default: {}", text);
}

void declare_options(CLI::App& app, TopoOptions& options) {
  app.add_option("GRAPH", options.graphs,
                 help_text("which ranks have QPs between them; --list has the graphs"))
      ->type_name("");
  app.add_flag("--list", options.list, help_text("print graphs, traffics and schedules, and end"));
  app.add_flag("--dry-run", options.dry_run, help_text("print the cases, and end"));
  app.add_option("--ranks", options.ranks,
                 help_text("as many ranks: under a launcher what is expected of it, else how many "
                           "to start here"))
      ->type_name("N");
  app.add_option("--scale", options.scale,
                 help_text("measure among the first N ranks, for each N of a list or range. "
                           "Default: all ranks"))
      ->type_name("N");
  app.add_option("-o,--output", options.output,
                 help_text("write the result, as JSON, here; -: to stdout"))
      ->type_name("FILE");
  app.add_option("--repetitions", options.repetitions,
                 help_text("measure each case this often, with new QPs and buffers. Default: 1"))
      ->type_name("N");
  app.add_option("--patience", options.patience,
                 help_text("end the run when a rank keeps the others waiting for so long without "
                           "any progress [s]. Default: 60"))
      ->type_name("SECONDS");
  add_predict_option(app, options.predict);
  declare_axes(app, options.axes, for_topologies, default_text);
}

std::string list_text() {
  std::string text = "Graphs:\n";
  for (const Shape& shape : shapes())
    text += fmt::format("  {:<14}{}\n", fmt::format("{}{}", shape.name, shape.arguments),
                        shape.description);
  text += "Traffics (--traffic):\n";
  for (const TrafficKind& kind : traffic_kinds())
    text += fmt::format("  {:<14}{}\n", fmt::format("{}{}", kind.name, kind.arguments),
                        kind.description);
  text += "Schedules (--schedule):\n";
  for (const Schedule& schedule : schedules())
    text += fmt::format("  {:<14}{}\n", schedule.name, schedule.description);
  return text;
}

struct TopoRequest {
  std::vector<std::string> graphs;
  std::vector<GivenAxis> given;
  std::optional<std::uint64_t> ranks;
  std::string output;
  std::uint64_t repetitions = 1;
  milliseconds patience{};
  std::vector<std::uint64_t> predict;
};

TopoRequest interpret(const TopoOptions& options) {
  TopoRequest request;
  for (const std::string& list : options.graphs)
    for (const std::string& graph : read_axis_list(*find_axis("graph"), list))
      request.graphs.push_back(graph);
  if (request.graphs.empty())
    throw UsageError("name at least one graph ('rdmameter topo --list' prints them)");
  if (options.output == "") throw UsageError("-o takes the name of a file, or - for stdout");
  request.output = options.output.value_or("");
  request.given = given_axes(options.axes);
  const auto has = [&](std::string_view option) {
    return std::ranges::any_of(
        request.given, [&](const GivenAxis& given) { return given.axis->option == option; });
  };
  if (!has("traffic")) request.given.push_back({find_axis("traffic"), {"pairs", "alltoall"}});
  if (options.ranks) request.ranks = read_option("--ranks", *options.ranks, 1, kMostTopologyRanks);
  if (options.scale)
    request.given.push_back(
        {find_axis("ranks"), read_axis_list(*find_axis("ranks"), *options.scale)});
  request.predict = predicted_ranks(options.predict);
  request.repetitions = read_option("--repetitions", options.repetitions, 1, kMostRepetitions);
  const auto patience = parse_seconds_ns(options.patience);
  if (!patience || *patience < 1'000'000'000 || *patience > 86400ULL * 1'000'000'000)
    throw UsageError(fmt::format(
        "--patience does not take '{}'; it takes seconds from 1s to 86400s", options.patience));
  request.patience = std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(*patience));
  return request;
}

/// @throws UsageError  an unknown graph, traffic or schedule; more ranks than there are
std::vector<PlannedCase> plan(const TopoRequest& request, std::uint64_t ranks) {
  std::vector<GivenAxis> given = request.given;
  const auto scale = std::ranges::find(given, std::string_view("ranks"),
                                       [](const GivenAxis& each) { return each.axis->option; });
  if (scale == given.end())
    given.push_back({find_axis("ranks"), {std::to_string(ranks)}});
  else
    for (const std::string& count : scale->values)
      if (*parse_count(count) > ranks)
        throw UsageError(fmt::format("--scale {}: there are {} ranks", count, ranks));
  std::vector<PlannedCase> cases = plan_topologies(request.graphs, given);
  for (PlannedCase& planned : cases) {
    std::string why = why_no_topology(planned.one_case);  // refuses unknown names, too
    if (planned.why_skipped.empty()) planned.why_skipped = std::move(why);
  }
  return cases;
}

bool nothing_to_measure(const std::vector<PlannedCase>& cases) {
  return std::ranges::all_of(
      cases, [](const PlannedCase& planned) { return !planned.why_skipped.empty(); });
}

/// PMIx keeps what every row has put into it, and carries it along with the next one's.
void advise_to_split(const std::vector<PlannedCase>& cases, std::uint64_t repetitions) {
  const auto measured = static_cast<std::uint64_t>(std::ranges::count_if(
      cases, [](const PlannedCase& planned) { return planned.why_skipped.empty(); }));
  const std::uint64_t rows = measured * repetitions;
  if (rows <= kManyRows) return;
  fmt::print(stderr,
             "rdmameter: {} rows in one run: launchers get slower with each (docs/topologies.md), "
             "and set-up times with them; split it, and join the results by 'rdmameter merge'\n",
             rows);
}

/// Of the ranks that are not rank 0, which alone reports: what went wrong last, in case that one
/// cannot.
class Silence final : public RunListener {
 public:
  void begin(const std::string&, std::uint64_t, std::uint64_t) override {}
  void row(const Row& row) override {
    if (row.status == Row::Status::error) error_ = row.message;
  }
  const std::string& error() const { return error_; }

 private:
  std::string error_;
};

/// Rank 0 says why the run cannot go on, and ends it. Where it does not, it is the one that is
/// gone, and whoever has waited for it does so.
ExitStatus end_for_rank_zero(Ranks& ranks, const std::string& why,
                             const InterruptSource& interrupt) {
  if (wait_for(-1, 0, Deadline::in(kForRankZero), interrupt) == Waited::deadline)
    fmt::print(stderr, "rdmameter: {}\n", why);
  std::fflush(nullptr);
  ranks.abort(static_cast<int>(ExitStatus::failed));
  return ExitStatus::failed;
}

/// Keeps the rows beside putting them out, so that what they tell together can be told, too.
class Keeping final : public RunListener {
 public:
  explicit Keeping(RunOutput& output) : output_(output) {}
  void begin(const std::string& name, std::uint64_t done, std::uint64_t all) override {
    output_.begin(name, done, all);
  }
  void row(const Row& row) override {
    output_.row(row);
    rows_.push_back(row);
  }
  std::vector<Row> take() { return std::move(rows_); }

 private:
  RunOutput& output_;
  std::vector<Row> rows_;
};

/// What is skipped whoever measures needs no ranks.
ExitStatus report_skipped(const TopoRequest& request, const std::vector<PlannedCase>& cases,
                          const Invocation& invocation) {
  const BenchmarkFlags flags = initialize_benchmark({}, request.repetitions);
  check_writable(request.output);
  FailedMeasurer nobody(nullptr);
  RunOutput output(request.output,
                   result_context(invocation.command_line, {}, flags, choose_clock(), nobody),
                   cases);
  const RunTally tally = run_cases(cases, flags, nobody, invocation.interrupt.word(), output);
  output.finish(tally);
  return tally.status();
}

ExitStatus measure(const TopoRequest& request, Ranks& ranks, const Invocation& invocation) {
  // First of all: what comes after it fails on every rank alike, or on none.
  const std::string& line = invocation.command_line;
  if (const std::string why =
          check_same(ranks, RDMAMETER_VERSION, line.substr(std::min(line.find(' '), line.size())));
      !why.empty())
    throw UsageError(why);
  if (request.ranks && *request.ranks != ranks.size())
    throw UsageError(fmt::format(
        "--ranks {}: the launcher has started {}; make its number and --ranks the same, or leave "
        "--ranks out",
        *request.ranks, ranks.size()));
  const std::vector<PlannedCase> cases = plan(request, ranks.size());
  const bool reports = ranks.rank() == 0;
  const BenchmarkFlags flags = initialize_benchmark({}, request.repetitions);
  if (reports) {
    check_writable(request.output);
    advise_to_split(cases, flags.repetitions);
  }
  const ClockChoice clock = choose_clock();
  const auto measurer =
      make_topology_measurer(ranks, request.patience, clock, invocation.interrupt);
  const nlohmann::ordered_json environments = measurer->ranks_environment(cases.front().one_case);
  if (!reports) {
    Silence silence;
    run_cases(cases, flags, *measurer, invocation.interrupt.word(), silence);
    if (!measurer->usable()) return end_for_rank_zero(ranks, silence.error(), invocation.interrupt);
    return ExitStatus::pass;
  }
  nlohmann::ordered_json context =
      result_context(invocation.command_line, {}, flags, clock, *measurer);
  context["rdmameter"]["ranks"] = environments;
  RunOutput output(request.output, context, cases);
  Keeping rows(output);
  const RunTally tally = run_cases(cases, flags, *measurer, invocation.interrupt.word(), rows);
  output.finish(tally);
  if (!request.predict.empty() && request.output != "-")
    fmt::print("\n{}",
               topology_text({.path = request.output, .context = context, .rows = rows.take()},
                             {.predict = request.predict, .style = terminal_style()}));
  if (!measurer->usable()) {
    std::fflush(nullptr);
    ranks.abort(static_cast<int>(ExitStatus::failed));
  }
  return tally.status();
}

/// What every rank would say alike, rank 0 says.
ExitStatus measure_as_rank(const TopoRequest& request, const Invocation& invocation) {
  // Who has failed waits here for those whose loops find out only after their own patience.
  const auto ranks = join_pmix(2 * request.patience, invocation.interrupt);
  try {
    return measure(request, *ranks, invocation);
  } catch (const MeasurementError& error) {
    if (ranks->rank() == 0) throw;
    return end_for_rank_zero(*ranks, error.what(), invocation.interrupt);
  } catch (...) {
    if (ranks->rank() == 0) throw;
    return ExitStatus::pass;
  }
}

/// How many processes `srun` has started with this one. A batch script, though it runs in a job, is
/// none of them.
std::uint64_t tasks_of_srun() {
  const char* tasks = std::getenv("SLURM_STEP_NUM_TASKS");
  return tasks == nullptr ? 0 : parse_count(tasks).value_or(0);
}

/// Of tasks that do not know of each other, the first one says so for all.
ExitStatus refuse_lone_tasks(std::uint64_t tasks) {
  const char* task = std::getenv("SLURM_PROCID");
  if (task != nullptr && task != std::string_view("0")) return ExitStatus::usage;
  throw UsageError(fmt::format(
      "srun has started {} processes without PMIx, so that they do not know of each other: use "
      "'srun --mpi=pmix'",
      tasks));
}

ExitStatus topo(const TopoOptions& options, const Invocation& invocation) {
  if (options.list) {
    fmt::print("{}", list_text());
    return ExitStatus::pass;
  }
  const TopoRequest request = interpret(options);
  if (started_by_pmix() && !options.dry_run) return measure_as_rank(request, invocation);
  const std::uint64_t tasks = tasks_of_srun();
  if (tasks > 1 && !options.dry_run) return refuse_lone_tasks(tasks);
  if (!request.ranks)
    throw UsageError(
        "say how many ranks: --ranks N starts them here, or start it under a launcher that speaks "
        "PMIx: 'mpirun -n 4 rdmameter topo ...'");
  const std::vector<PlannedCase> cases = plan(request, *request.ranks);
  if (options.dry_run) {
    for (const PlannedCase& planned : cases)
      fmt::print("{}{}\n", planned.name,
                 planned.why_skipped.empty() ? "" : "  skipped: " + planned.why_skipped);
    return ExitStatus::pass;
  }
  if (nothing_to_measure(cases)) return report_skipped(request, cases, invocation);
  return launch_ranks(*request.ranks, invocation.arguments, invocation.interrupt);
}

}  // namespace

Action declare_topo(CLI::App& app) {
  const auto options = std::make_shared<TopoOptions>();
  declare_options(app, *options);
  app.footer(kTopoFooter);
  return [options](const Invocation& invocation) { return topo(*options, invocation); };
}

}  // namespace rdmameter
