// SPDX-License-Identifier: Apache-2.0
// rdmameter topo: several ranks, with QPs between them as graphs have it.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>

#include "bench/cases/cases.h"
#include "bench/child/child.h"
#include "bench/commands/topo_simulate.h"
#include "bench/options/command.h"
#include "bench/options/measuring_options.h"
#include "bench/options/prediction_options.h"
#include "bench/running/benchmark_flags.h"
#include "bench/running/lines/run_output.h"
#include "bench/running/result_context.h"
#include "bench/running/runner.h"
#include "bench/running/status_line.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/log/print.h"
#include "core/result/output_file.h"
#include "core/wire/wait.h"
#include "reports/text/text.h"
#include "reports/topology/topology_text.h"
#include "topologies/axes/rank_axes.h"
#include "topologies/ranks/bootstrap/pmix_job.h"
#include "topologies/ranks/measurer.h"
#include "topologies/ranks/rank_plan.h"
#include "topologies/traffic/hop_count.h"

namespace rdmameter {

Action declare_topo_connections(CLI::App& app);  // topo_connections.cpp

namespace {

using std::chrono::milliseconds;

/// How long a rank whose peers are gone waits for rank 0 to end the run.
constexpr std::chrono::seconds kForRankZero{15};

constexpr const char* kTopoFooter =
    "Run it under a launcher that speaks PMIx: mpirun or srun --mpi=pmix (prterun,\n"
    "too, but that is untested). With --ranks N alone it starts N ranks here, under\n"
    "mpirun. %l in --device is the rank's number on its machine.\n"
    "docs/topologies.md says what is measured.\n\n"
    "Examples:\n"
    "  rdmameter topo mesh ring --ranks 4 --size 8,4K -o topo.json\n"
    "  rdmameter topo mesh hypercube udmesh --ranks 8 --traffic alltoall --verify\n"
    "  mpirun -n 8 rdmameter topo mesh ring kring:2 --scale 2,4,8 -o topo.json\n"
    "  rdmameter topo mesh ring --ranks 256 --simulate delay:2us,rate:100Gb/s\n"
    "  mpirun -n 4 rdmameter topo torus2d:2x2 --traffic neighbours --device rxe%l\n"
    "  srun --mpi=pmix -n 8 rdmameter topo mesh ring -o topo.json\n"
    "  rdmameter topo connections HOST   ('topo connections --help' says more)";

struct TopoOptions : MeasuringOptions, ShowOptions {
  std::vector<std::string> graphs;
  std::optional<std::uint64_t> ranks, order_seed;
  std::vector<std::string> scale;
  milliseconds patience{60'000};
  std::string bootstrap_interface, simulate;
};

const Axis& topology_axis(std::string_view option) {
  return *find_axis(option, topology_axes());
}

/// Has the axis a meaning for some topology? The graph is what the positionals name, and the ranks
/// are one number.
bool for_topologies(const Axis& axis) {
  if (axis.option == "graph" || axis.option == "ranks") return false;
  TestCase test_case = default_topology_case();
  for (const char* graph : {"mesh", "random:2", "udmesh"})
    for (const Transport transport : {Transport::rc, Transport::uc}) {
      test_case.transport = transport;
      set_axis(test_case, topology_axis("graph"), graph);
      for (const TrafficKind* kind : traffic_kinds()) {
        test_case.traffic = kind->name;
        test_case.inflate = axis.option == "active" ? 2 : 0;
        if (axis.applies(test_case)) return true;
      }
    }
  return false;
}

std::string rank_default_text(const Axis& axis) {
  return "Default: " + (axis.option == "traffic" ? "pairs,alltoall,flood"
                                                 : axis_text(default_topology_case(), axis));
}

milliseconds read_patience(const std::string& text) {
  constexpr std::uint64_t kSecond_ns = 1'000'000'000, kDay_ns = 86400 * kSecond_ns;
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::nanoseconds(read_seconds_ns("--patience", text, kSecond_ns, kDay_ns)));
}

void declare_options(CLI::App& app, TopoOptions& options) {
  add_option<std::vector<std::string>>(
      app, "GRAPH", options.graphs, "", "which ranks have QPs between them; --list has the graphs",
      [](const std::vector<std::string>& lists) {
        std::vector<std::string> graphs;
        for (const std::string& list : lists)
          std::ranges::move(read_axis_list(topology_axis("graph"), list),
                            std::back_inserter(graphs));
        return graphs;
      });
  add_flag(app, "--list", options.list, "print graphs, traffics and schedules, and exit");
  add_flag(app, "--dry-run", options.dry_run, "print the cases, and exit");
  add_count(
      app, "--ranks", options.ranks,
      "number of ranks: how many to start here, or under a launcher how many it must have started",
      1, kMaxTopologyRanks);
  add_option(app, "--scale", options.scale, "N",
             "measure among the first N ranks, for each N of a list or range. Default: all ranks",
             [](const std::string& list) { return read_axis_list(topology_axis("ranks"), list); });
  declare_output_option(app, options);
  declare_repetitions_option(app, options);
  add_count(app, "--order-seed", options.order_seed,
            "draw the order in which each of several repetitions measures the cases from this "
            "number. Default: a new one, which the result has",
            0, UINT32_MAX);
  add_option(app, "--patience", options.patience, "SECONDS",
             "end the run when a rank keeps the others waiting for this long without any progress "
             "[s]. Default: 60",
             read_patience);
  add_option(
      app, "--bootstrap-if", options.bootstrap_interface, "NAME",
      "the network interface of each machine by whose address ranks reach each other by TCP, "
      "to exchange addresses of QPs and results. Default: any that leads there",
      [](const std::string& name) {
        if (!name.empty()) own_addresses(name);
        return name;
      });
  add_option(app, "--simulate", options.simulate, "NETWORK",
             "measure nothing: run the ranks in this process, in virtual time, on a network like "
             "delay:2us,rate:100Gb/s, or like the one of a result, from:FILE "
             "(docs/topologies-reference.md has all of it)");
  add_flag(app, "--judge-shared", options.judge_shared,
           "look for a slow rank or pair of ranks even where ranks share cores");
  add_predict_option(app, options.predict);
  add_memory_budget_option(app, options.memory_budget_bytes);
  std::vector<const Axis*> chosen;
  for (const Axis& axis : topology_axes())
    if (for_topologies(axis)) chosen.push_back(&axis);
  declare_axes(app, chosen, {}, options.given, rank_default_text);
}

std::string list_text(std::string_view title, const auto& rows) {
  std::string text = fmt::format("{}:\n", title);
  for (const auto* row : rows)
    text += fmt::format("  {:<23}{}\n", fmt::format("{}{}", row->name, row->arguments),
                        row->description);
  return text;
}

/// Fills what the options say together.
TopoOptions completed(TopoOptions options) {
  if (options.graphs.empty())
    throw UsageError("name at least one graph ('rdmameter topo --list' prints them)");
  if (find_given(options.given, "traffic") == nullptr)
    options.given.push_back({&topology_axis("traffic"), {"pairs", "alltoall", "flood"}});
  if (!options.scale.empty()) options.given.push_back({&topology_axis("ranks"), options.scale});
  return options;
}

/// @throws UsageError  an unknown graph, traffic or schedule; more ranks than there are
std::vector<PlannedCase> plan(const TopoOptions& options, std::uint64_t ranks) {
  std::vector<GivenAxis> given = options.given;
  const GivenAxis* const scale = find_given(given, "ranks");
  if (scale == nullptr)
    given.push_back({&topology_axis("ranks"), {std::to_string(ranks)}});
  else
    for (const std::string& count : scale->values)
      if (*parse_count(count) > ranks)
        throw UsageError("--scale {}: there are {} ranks", count, ranks);
  std::vector<PlannedCase> cases = plan_topologies(options.graphs, given);
  for (PlannedCase& planned : cases) {
    std::string why = why_no_topology(planned.test_case);  // refuses unknown names, too
    if (planned.why_skipped.empty()) planned.why_skipped = std::move(why);
  }
  return cases;
}

/// "hops: mean 6.0, max 12"
std::string hops_text(const TestCase& test_case) {
  const HopCount hops =
      count_hops(read_shape(test_case.graph, test_case.seed), read_traffic(test_case.traffic),
                 static_cast<Rank>(test_case.ranks));
  std::string text = fmt::format("hops: mean {:.3g}, max {}", hops.mean, hops.max);
  if (hops.sampled()) text += fmt::format(" (of messages of {} sampled ranks)", hops.looked_at);
  return text;
}

bool nothing_to_measure(const std::vector<PlannedCase>& cases) {
  return std::ranges::all_of(
      cases, [](const PlannedCase& planned) { return !planned.why_skipped.empty(); });
}

/// "mesh/rc/ranks:1  skipped: WHY"; at a terminal in lines that fit.
std::string dry_run_text(const PlannedCase& planned, const TextStyle& style) {
  const std::string told = planned.why_skipped.empty() ? hops_text(planned.test_case)
                                                       : "skipped: " + planned.why_skipped;
  if (style.narrow) return name_lines(planned.name, style.width) + wrap("    ", told, style.width);
  return fmt::format("{}  {}\n", planned.name, told);
}

/// Of the ranks that are not rank 0, which alone reports: what went wrong last, in case
/// that one cannot.
class ErrorRecorder final : public RunListener {
 public:
  void begin(const std::string&, std::uint64_t, std::uint64_t) override {}
  void row(const Row& row) override {
    if (row.status == Row::Status::error) error_ = row.message;
  }
  const std::string& error() const { return error_; }

 private:
  std::string error_;
};

/// Rank 0 says why the run cannot go on, and ends it. Where it does not, rank 0 itself is gone, and
/// a rank that waited for it says so.
ExitStatus end_for_rank_zero(Ranks& ranks, const std::string& why,
                             const InterruptSource& interrupt) {
  if (wait_for(-1, 0, Deadline::in(kForRankZero), interrupt) == Waited::deadline)
    tell_lines("rdmameter: {}\n", why);
  flush_print();
  ranks.abort(static_cast<int>(ExitStatus::failed));
  return ExitStatus::failed;
}

/// Makes the run tell at its end what --predict and --memory-budget ask for, if anything.
/// @param options, context  must outlive the output
void tell_predictions(RunOutput& output, const TopoOptions& options, const Json& context) {
  if ((options.predict.empty() && !options.memory_budget_bytes) || options.output == "-") return;
  output.tell_at_the_end([&](std::span<const Row> rows, const TextStyle& style) {
    ShowOptions asked = options;
    asked.style = style;
    const std::string text = topology_text(
        {.path = options.output, .context = context, .rows = {rows.begin(), rows.end()}}, asked);
    return text.empty() ? text : "\n" + text;
  });
}

/// What needs no other process: cases that are skipped on any device, or simulated.
/// @param more  of context.rdmameter
ExitStatus run_here(const TopoOptions& options, const std::vector<PlannedCase>& cases,
                    Measurer& measurer, const Invocation& invocation,
                    const Json& more = Json::object()) {
  const BenchmarkFlags flags = initialize_benchmark({}, options.repetitions.value_or(1));
  check_writable(options.output);
  Json context = result_context(invocation.command_line, {}, flags, choose_clock(), measurer);
  context["rdmameter"].update(more);
  RunOutput output(options.output, context, cases);
  tell_predictions(output, options, context);
  return output.finish(
      run_range({cases, measurer, invocation.interrupt.word(), output}, {0, cases.size()}, flags));
}

/// What a simulation of the request would say of cases that the network's source has measured.
std::vector<NetworkCheck> network_checks(const TopoOptions& options, const NetworkChoice& network,
                                         const StopFlag& stop) {
  TopoOptions at = options;
  std::erase_if(at.given, [](const GivenAxis& axis) { return axis.option() == "ranks"; });
  std::vector<PlannedCase> cases;
  for (const std::uint64_t ranks : checked_ranks(network))
    std::ranges::move(plan(at, ranks), std::back_inserter(cases));
  make_simulated(cases, network.text, options.given);
  return check_network(network, cases, stop);
}

ExitStatus simulate_here(const TopoOptions& options, const std::vector<PlannedCase>& cases,
                         const NetworkChoice& network, const Invocation& invocation) {
  const auto measurer = make_simulated_measurer(network.text, invocation.interrupt.word());
  if (!network.source) return run_here(options, cases, *measurer, invocation);
  const std::vector<NetworkCheck> checks =
      network_checks(options, network, invocation.interrupt.word());
  if (options.output != "-") print_text(network_text(network, checks, terminal_style()));
  return run_here(options, cases, *measurer, invocation,
                  {{"simulated_from", network_json(network, checks)}});
}

/// @throws UsageError  an option that says how ranks are measured
void check_simulated(const TopoOptions& options) {
  if (started_by_pmix())
    throw UsageError("--simulate: all ranks are in one process; start it without a launcher");
  if (options.repetitions.value_or(1) > 1)
    throw UsageError("--simulate, --repetitions: each repetition would give the same numbers");
  for (const auto& [option, is_given] : {std::pair{"--order-seed", options.order_seed.has_value()},
                                         {"--patience", options.patience != TopoOptions().patience},
                                         {"--bootstrap-if", !options.bootstrap_interface.empty()},
                                         {"--judge-shared", options.judge_shared}})
    if (is_given)
      throw UsageError("--simulate, {}: it says how ranks are measured; leave one of them out",
                       option);
}

ExitStatus measure(const TopoOptions& options, Ranks& ranks, const ClockChoice& clock,
                   const Invocation& invocation) {
  // First of all: what comes after it fails on every rank alike, or on none.
  const std::string& line = invocation.command_line;
  if (const std::string why =
          check_same(ranks, RDMAMETER_VERSION, line.substr(std::min(line.find(' '), line.size())));
      !why.empty())
    throw UsageError(why);
  if (options.ranks && *options.ranks != ranks.size())
    throw UsageError(
        "--ranks {}: the launcher has started {} ranks; give --ranks that number, or leave it out",
        *options.ranks, ranks.size());
  const std::vector<PlannedCase> cases = plan(options, ranks.size());
  const bool reports = ranks.rank() == 0;
  const BenchmarkFlags flags = initialize_benchmark({}, options.repetitions.value_or(1));
  if (reports) check_writable(options.output);
  const auto measurer = make_topology_measurer(
      ranks, {options.patience, clock, invocation.interrupt, options.judge_shared,
              reports ? choice_printer() : ChoiceListener()});
  const std::uint64_t order_seed = options.order_seed.value_or(measurer->common_seed());
  const Json environments = measurer->ranks_environment(cases.front().test_case);
  if (!reports) {
    ErrorRecorder errors;
    run_interleaved({cases, *measurer, invocation.interrupt.word(), errors}, flags.repetitions,
                    order_seed);
    if (!measurer->usable()) return end_for_rank_zero(ranks, errors.error(), invocation.interrupt);
    return ExitStatus::pass;
  }
  Json context = result_context(invocation.command_line, {}, flags, clock, *measurer);
  context["rdmameter"]["ranks"] = environments;
  if (flags.repetitions > 1) context["rdmameter"]["order_seed"] = order_seed;
  RunOutput output(options.output, context, cases);
  tell_predictions(output, options, context);
  const ExitStatus status = output.finish(run_interleaved(
      {cases, *measurer, invocation.interrupt.word(), output}, flags.repetitions, order_seed));
  if (!measurer->usable()) {
    flush_print();
    ranks.abort(static_cast<int>(ExitStatus::failed));
  }
  return status;
}

/// What every rank would say alike, rank 0 says.
ExitStatus measure_as_rank(const TopoOptions& options, const Invocation& invocation) {
  const ClockChoice clock = choose_clock();  // it sleeps meanwhile: other ranks start in that time
  // Who has failed waits here for those whose loops find out only after their own patience.
  const auto ranks =
      join_ranks({.patience = 2 * options.patience, .interface = options.bootstrap_interface},
                 invocation.interrupt);
  try {
    return measure(options, *ranks, clock, invocation);
  } catch (const MeasurementError& error) {
    if (ranks->rank() == 0) throw;
    return end_for_rank_zero(*ranks, error.what(), invocation.interrupt);
  } catch (...) {
    if (ranks->rank() == 0) throw;
    return ExitStatus::pass;
  }
}

/// What tells that a launcher without PMIx has started this process, and how many with it. They do
/// not know of each other. A batch script, though it runs in a job, is none of them.
struct OtherLauncher {
  const char *tasks, *task;  ///< variables: how many processes; which of them this one is
  std::string_view name, remedy;
};
constexpr std::array kOtherLaunchers{
    // First, since it may have come by srun, whose variables then count its own helpers.
    OtherLauncher{"PMI_SIZE", "PMI_RANK", "a launcher of PMI (mpiexec of MPICH, srun --mpi=pmi2)",
                  "mpirun of Open MPI, or 'srun --mpi=pmix'"},
    OtherLauncher{"SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "srun", "'srun --mpi=pmix'"},
    OtherLauncher{"FLUX_JOB_SIZE", "FLUX_TASK_RANK", "flux", "'flux run -o pmi=pmix'"}};

std::uint64_t tasks_of(const OtherLauncher& launcher) {
  const char* tasks = std::getenv(launcher.tasks);
  return tasks == nullptr ? 0 : parse_count(tasks).value_or(0);
}

/// Of processes that do not know of each other, the first one says so for all.
ExitStatus refuse_lone_tasks(const OtherLauncher& launcher) {
  const char* task = std::getenv(launcher.task);
  if (task != nullptr && task != std::string_view("0")) return ExitStatus::usage;
  throw UsageError(
      "{} has started {} processes without PMIx, so they cannot find each other: use {}",
      launcher.name, tasks_of(launcher), launcher.remedy);
}

ExitStatus topo(const TopoOptions& typed, const Invocation& invocation) {
  if (typed.list) {
    print_text(for_stdout(list_text("Graphs", shapes()) +
                          list_text("Traffics (--traffic)", traffic_kinds()) +
                          list_text("Schedules (--schedule)", schedules())));
    return ExitStatus::pass;
  }
  const TopoOptions options = completed(typed);
  const bool simulated = !options.simulate.empty();
  if (simulated) check_simulated(options);
  if (started_by_pmix() && !options.dry_run) return measure_as_rank(options, invocation);
  if (!options.dry_run)
    for (const OtherLauncher& launcher : kOtherLaunchers)
      if (tasks_of(launcher) > 1) return refuse_lone_tasks(launcher);
  if (!options.ranks)
    throw UsageError(
        "say how many ranks: --ranks N starts them here, or start it under a launcher that speaks "
        "PMIx: 'mpirun -n 4 rdmameter topo ...'");
  std::vector<PlannedCase> cases = plan(options, *options.ranks);
  const NetworkChoice network =
      simulated ? choose_network(options.simulate, *options.ranks) : NetworkChoice();
  if (simulated) make_simulated(cases, network.text, options.given);
  if (options.dry_run) {
    for (const PlannedCase& planned : cases) print_text(dry_run_text(planned, terminal_style()));
    return nothing_to_measure(cases) ? ExitStatus::usage : ExitStatus::pass;
  }
  if (simulated) return simulate_here(options, cases, network, invocation);
  if (nothing_to_measure(cases)) {
    FailedMeasurer no_measurer(nullptr);
    return run_here(options, cases, no_measurer, invocation);
  }
  check_writable(options.output);  // before a launcher adds a page of its own about the failure
  return launch_ranks(*options.ranks, invocation.arguments, invocation.interrupt);
}

}  // namespace

Action declare_topo(CLI::App& app) {
  const auto options = std::make_shared<TopoOptions>();
  declare_options(app, *options);
  app.footer(kTopoFooter);
  CLI::App* connections =
      app.add_subcommand("connections", "Measure rates over active connections.");
  const Action measure_connections = declare_topo_connections(*connections);
  return [=](const Invocation& invocation) {
    return connections->parsed() ? measure_connections(invocation) : topo(*options, invocation);
  };
}

}  // namespace rdmameter
