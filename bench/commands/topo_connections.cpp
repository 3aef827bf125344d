// SPDX-License-Identifier: Apache-2.0
// rdmameter topo connections: rate, latency and memory over the number of active connections
// between two ends, and the knee.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>

#include "bench/cases/axis_list.h"
#include "bench/cases/connection_cases.h"
#include "bench/cases/dry_run.h"
#include "bench/cases/nearest.h"
#include "bench/doctor/examination_text.h"
#include "bench/options/command.h"
#include "bench/options/help_text.h"
#include "bench/options/run_options.h"
#include "bench/remote/remote_server.h"
#include "bench/running/benchmark_flags.h"
#include "bench/running/measurers.h"
#include "bench/running/result_context.h"
#include "bench/running/run_output.h"
#include "bench/running/runner.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "core/engine/case_memory.h"
#include "core/log/print.h"
#include "reports/text/text.h"
#include "reports/topology/connection_text.h"

namespace rdmameter {
namespace {

constexpr std::uint64_t kMaxConnections = 65536;
constexpr std::uint64_t kDefaultRepetitions = 5;
constexpr unsigned kRoundsAtKnee = 3, kNumbersAtKnee = 7;
constexpr double kNarrow = 1.02;  ///< a knee between numbers of a smaller ratio is found

/// What may be chosen of the QPs, the path and the ends. Each is the same for all connections.
constexpr std::array<std::string_view, 19> kChosenAxes{
    "size",           "inline",     "api",         "cq",
    "wait",           "mtu",        "sl",          "tclass",
    "pkey",           "qp-timeout", "device",      "port-num",
    "gid-index",      "core",       "peer-device", "peer-port-num",
    "peer-gid-index", "peer-core",  "cq-sharing"};
constexpr const char* kDefaultSize = "32";

constexpr const char* kConnectionsFooter =
    "Measured are 1, 2, 4... connections, and more numbers around a knee, where the\n"
    "rate falls by 10 %. docs/topologies.md says how.\n\n"
    "Examples:\n"
    "  rdmameter topo connections 192.0.2.1 -o connections.json\n"
    "  rdmameter topo connections --loopback --over rc --opcode write --max-qps 512\n"
    "  rdmameter show connections.json";

struct ConnectionsOptions : MeasuringOptions {  // of the positionals one, HOST
  bool loopback = false;
  HostOptions hosts;
  std::string over, opcodes, memory_budget = "1G", duration, iterations;
  std::optional<std::string> max_qps, window, order_seed;
};

struct ConnectionsRequest {
  std::optional<RunHost> host;  ///< nothing: not said, which a dry run does not mind
  std::vector<const ConnectionKind*> kinds;
  std::vector<const ConnectionOpcode*> opcodes;
  std::uint64_t max_qps = 4096, memory_budget_bytes = 0, repetitions = kDefaultRepetitions;
  std::uint64_t order_seed = 0;
  ConnectionSettings settings;
  std::string output;
};

/// Of a list those that it names, each once; of an empty one all.
template <class Named>
std::vector<const Named*> named_in(std::string_view option, std::string_view list,
                                   std::span<const Named> known) {
  std::vector<const Named*> found;
  std::vector<std::string_view> names;
  for (const Named& one : known) names.push_back(one.name);
  if (list.empty())
    for (const Named& one : known) found.push_back(&one);
  for (std::string_view rest = list; !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view word = rest.substr(0, comma);
    const auto at = std::ranges::find(known, word, &Named::name);
    if (at == known.end())
      throw UsageError(fmt::format("{} '{}': takes {}, several with commas between them{}", option,
                                   list, fmt::join(names, ", "), did_you_mean(word, names)));
    if (std::ranges::find(found, &*at) == found.end()) found.push_back(&*at);
    rest = comma == rest.npos ? "" : rest.substr(comma + 1);
  }
  return found;
}

/// One value of an axis, in its one spelling.
std::string one_value(std::string_view option, std::string_view text) {
  const std::vector<std::string> values = read_axis_list(*find_axis(option), text);
  if (values.size() != 1)
    throw UsageError(fmt::format("--{} '{}': takes one value here", option, text));
  return values.front();
}

ConnectionSettings settings_of(const ConnectionsOptions& options) {
  ConnectionSettings settings;
  if (options.window) settings.window = read_option("--window", *options.window, 1, 32768);
  if (!options.duration.empty()) {
    settings.duration = one_value("duration", options.duration);
    if (parse_seconds_ns(settings.duration).value_or(0) == 0)
      throw invalid_value("--duration", options.duration, "a time above 0, as it ends by itself");
  }
  if (options.iterations == "0")
    settings.iterations = 0;
  else if (!options.iterations.empty())
    settings.iterations = *parse_count(one_value("iterations", options.iterations));
  settings.given = given_axes(options.axes);
  for (const GivenAxis& one : settings.given) {
    if (one.values.size() != 1)
      throw UsageError(fmt::format("--{}: takes one value here", one.option()));
    if (one.option() == "device" && one.values.front() == "null")
      throw UsageError("--device null: that device has no connections");
  }
  if (std::ranges::find(settings.given, "size", &GivenAxis::option) == settings.given.end())
    settings.given.push_back({find_axis("size"), {kDefaultSize}});
  return settings;
}

ConnectionsRequest interpret_connections(const ConnectionsOptions& options) {
  ConnectionsRequest request;
  request.output = options.output_file();
  request.repetitions = options.repetition_count(kDefaultRepetitions);
  request.kinds = named_in("--over", options.over, connection_kinds());
  request.opcodes = named_in("--opcode", options.opcodes, connection_opcodes());
  if (options.max_qps)
    request.max_qps = read_option("--max-qps", *options.max_qps, 1, kMaxConnections);
  const auto budget = parse_bytes(options.memory_budget);
  if (!budget || *budget == 0)
    throw invalid_value("--memory-budget", options.memory_budget, "bytes from 1 on, such as 64M");
  request.memory_budget_bytes = *budget;
  request.order_seed = options.order_seed
                           ? read_option("--order-seed", *options.order_seed, 0, UINT32_MAX)
                           : std::random_device{}();
  request.settings = settings_of(options);
  if (options.positionals.size() > 1)
    throw UsageError("name one HOST, where `rdmameter serve` runs");
  if (options.loopback && !options.positionals.empty())
    throw UsageError("--loopback: with it there is no HOST");
  const std::vector<RunHost> hosts = run_hosts(options.positionals, options.hosts);
  if (options.loopback)
    request.host = {.target = {.kind = RunTarget::Kind::loopback}};
  else if (!hosts.empty())
    request.host = hosts.front();
  return request;
}

/// Where a curve ends, if not at --max-qps.
struct CurveEnd {
  std::uint64_t active;
  std::string reason;  ///< empty: --max-qps
};

/// How many QPs a device has for the connections of a run; nothing: it does not say.
struct DeviceQps {
  std::optional<std::uint64_t> initiator, responder;
  std::string reason;
};

std::optional<std::uint64_t> max_qp_of(const nlohmann::ordered_json& environment) {
  const nlohmann::ordered_json::json_pointer max_qp("/device/max_qp");
  if (!environment.is_object() || !environment.contains(max_qp) ||
      !environment.at(max_qp).is_number_unsigned())
    return std::nullopt;
  return environment.at(max_qp).get<std::uint64_t>();
}

bool share_device(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b) {
  for (const char* path : {"/boot_id", "/device/name"}) {
    const nlohmann::ordered_json::json_pointer pointer(path);
    if (!a.contains(pointer) || !b.contains(pointer) || a.at(pointer) != b.at(pointer))
      return false;
  }
  return true;
}

DeviceQps device_qps(const Measurer& measurer) {
  const auto mine = measurer.initiator_environment(), theirs = measurer.responder_environment();
  DeviceQps qps{max_qp_of(mine), max_qp_of(theirs), "the devices have no more QPs (max_qp)"};
  if (qps.initiator && qps.responder && share_device(mine, theirs)) {
    *qps.initiator /= 2;
    *qps.responder /= 2;
    qps.reason = "both ends share one device, which has no more QPs (max_qp)";
  }
  return qps;
}

CurveEnd curve_end(const ConnectionsRequest& request, const ConnectionKind& kind,
                   const ConnectionOpcode& opcode, const DeviceQps& qps) {
  CurveEnd end{request.max_qps, ""};
  const auto at_most = [&end](std::uint64_t active, const std::string& reason) {
    if (active < end.active) end = {active, reason};
  };
  at_most(kind.max, "rdmameter takes no more");
  if (qps.responder) at_most(*qps.responder, qps.reason);
  if (qps.initiator && kind.name != "ud") at_most(*qps.initiator, qps.reason);
  at_most(most_within(request.memory_budget_bytes, end.active, kind, opcode, request.settings),
          fmt::format("more would take more than {} of memory at one end (--memory-budget)",
                      bytes_text(request.memory_budget_bytes)));
  return end;
}

struct ConnectionPlan {
  std::vector<ConnectionCase> cases;
  nlohmann::ordered_json limits = nlohmann::ordered_json::array();
};

ConnectionPlan plan_connections(const ConnectionsRequest& request, const DeviceQps& qps) {
  ConnectionPlan plan;
  std::uint64_t most = 0;
  for (const ConnectionOpcode* opcode : request.opcodes)
    for (const ConnectionKind* kind : request.kinds) {
      if (!kind->carries(opcode->opcode)) continue;
      const CurveEnd end = curve_end(request, *kind, *opcode, qps);
      if (!end.reason.empty())
        plan.limits.push_back({{"kind", fmt::format("{}, {}", opcode->name, kind->name)},
                               {"active", end.active},
                               {"reason", end.reason}});
      for (const std::uint64_t active : doubling_to(end.active))
        for (const bool rate : {true, false})
          if (rate || request.settings.iterations != 0)
            plan.cases.push_back(connection_case(*kind, *opcode, active, rate, request.settings));
      most = std::max(most, end.active);
    }
  if (plan.cases.empty())
    throw UsageError(most == 0 && !plan.limits.empty()
                         ? fmt::format("not even one connection fits: {}",
                                       plan.limits.front()["reason"].get<std::string>())
                         : "--over srq and ud carry sends alone: add rc, or --opcode send");
  std::vector<PlannedCase> planned;
  for (const ConnectionCase& one : plan.cases) planned.push_back(one.planned);
  refuse_unused(request.settings.given, planned);
  return plan;
}

/// Writes into each row which point of which curve it is, and keeps it.
class CurveRows final : public RunListener {
 public:
  CurveRows(RunOutput& output, const std::vector<ConnectionCase>& cases)
      : output_(output), cases_(cases) {}

  void begin(const std::string& name, std::uint64_t done, std::uint64_t all) override {
    output_.begin(name, done, all);
  }
  void row(const Row& row) override {
    const ConnectionCase& about = cases_[row.family_index];
    const TestCase& test_case = about.planned.test_case;
    Row marked = row;
    marked.extra["connections"] = {
        {"kind", about.kind},
        {"opcode", about.opcode},
        {"active", about.active},
        {"memory_bytes", case_memory_bytes(test_case, Role::initiator)},
        {"peer_memory_bytes", case_memory_bytes(test_case, Role::responder)}};
    output_.row(marked);
    rows_.push_back(std::move(marked));
  }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  RunOutput& output_;
  const std::vector<ConnectionCase>& cases_;
  std::vector<Row> rows_;
};

class ConnectionsRun {
 public:
  ConnectionsRun(const ConnectionsRequest& request, const Invocation& invocation)
      : request_(request), invocation_(invocation) {}

  ExitStatus measure();

 private:
  std::unique_ptr<Measurer> open();
  RunTally measure_round(std::vector<std::size_t> which, CurveRows& rows, Measurer& measurer);
  std::vector<std::size_t> around_knees(const std::vector<Row>& rows);
  std::size_t place_of(const ConnectionCurve& curve, std::uint64_t active);

  const ConnectionsRequest& request_;
  const Invocation& invocation_;
  const ClockChoice clock_ = choose_clock();
  std::unique_ptr<RemoteServer> server_;  // ends after the measurer
  std::vector<ConnectionCase> cases_;
  std::vector<PlannedCase> planned_;  ///< those of cases_
  std::vector<std::uint64_t> repeated_;
  std::uint64_t begun_ = 0, round_ = 0;
};

std::unique_ptr<Measurer> ConnectionsRun::open() {
  RunTarget target = request_.host->target;
  if (request_.host->remote) {
    server_ = std::make_unique<RemoteServer>(*request_.host->remote, invocation_.interrupt);
    target.server = server_->address();
    target.token = server_->token();
  }
  const ConnectionKind& kind = *request_.kinds.front();
  const auto opcode = std::ranges::find_if(
      request_.opcodes, [&](const ConnectionOpcode* one) { return kind.carries(one->opcode); });
  const ConnectionOpcode& first =
      opcode == request_.opcodes.end() ? connection_opcodes().front() : **opcode;
  const std::array cases{connection_case(kind, first, 1, true, request_.settings).planned};
  return make_measurer(target, cases, clock_, invocation_.interrupt);
}

RunTally ConnectionsRun::measure_round(std::vector<std::size_t> which, CurveRows& rows,
                                       Measurer& measurer) {
  planned_.clear();
  for (const ConnectionCase& one : cases_) planned_.push_back(one.planned);
  const std::uint64_t measurements = which.size() * request_.repetitions;
  const RunTally tally = run_round(planned_,
                                   {.which = std::move(which),
                                    .repetitions = request_.repetitions,
                                    .seed = request_.order_seed + round_++,
                                    .begun = begun_},
                                   repeated_, measurer, invocation_.interrupt.word(), rows);
  begun_ += measurements;
  return tally;
}

/// The case of a rate, which is made where there is none.
std::size_t ConnectionsRun::place_of(const ConnectionCurve& curve, std::uint64_t active) {
  const auto found = std::ranges::find_if(cases_, [&](const ConnectionCase& one) {
    return one.rate && one.kind == curve.kind && one.opcode == curve.opcode && one.active == active;
  });
  if (found != cases_.end()) return static_cast<std::size_t>(found - cases_.begin());
  const auto kind = std::ranges::find(connection_kinds(), curve.kind, &ConnectionKind::name);
  const auto opcode =
      std::ranges::find(connection_opcodes(), curve.opcode, &ConnectionOpcode::name);
  cases_.push_back(connection_case(*kind, *opcode, active, true, request_.settings));
  return cases_.size() - 1;
}

/// What to measure so that knees become narrower: both ends of each, what lies between them, and
/// the rate that they were compared with, so that all were measured at the same time.
std::vector<std::size_t> ConnectionsRun::around_knees(const std::vector<Row>& rows) {
  std::vector<std::size_t> which;
  const auto add = [&](const ConnectionCurve& curve, std::uint64_t active) {
    const std::size_t place = place_of(curve, active);
    if (std::ranges::find(which, place) == which.end()) which.push_back(place);
  };
  for (const ConnectionCurve& curve : connection_curves(rows)) {
    const Knee& knee = curve.knee;
    if (!knee.found() && !knee.undecided()) continue;
    const std::uint64_t low = knee.fast, high = knee.found() ? knee.slow : knee.most;
    if (knee.found() &&
        (high - low <= 1 || static_cast<double>(high) < kNarrow * static_cast<double>(low)))
      continue;
    for (const ConnectionPoint& point : curve.points)
      if (!point.mmsg_per_s.empty() &&
          ((point.active >= low && point.active <= high) || point.active == knee.best))
        add(curve, point.active);
    if (!knee.found()) continue;
    for (const std::uint64_t active : between(low, high, kNumbersAtKnee)) add(curve, active);
  }
  return which;
}

ExitStatus ConnectionsRun::measure() {
  check_writable(request_.output);
  const BenchmarkFlags flags = initialize_benchmark({}, request_.repetitions);
  const std::unique_ptr<Measurer> measurer = open();
  ConnectionPlan plan = plan_connections(request_, device_qps(*measurer));
  cases_ = std::move(plan.cases);
  nlohmann::ordered_json context =
      result_context(invocation_.command_line, {}, flags, clock_, *measurer);
  context["rdmameter"]["order_seed"] = request_.order_seed;
  context["rdmameter"]["connections"] = {{"max_qps", request_.max_qps},
                                         {"memory_budget_bytes", request_.memory_budget_bytes},
                                         {"window", request_.settings.window},
                                         {"limits", plan.limits}};
  tell_worst_findings();
  RunOutput output(request_.output, context, {});
  output.omit_lines();
  CurveRows rows(output, cases_);
  std::vector<std::size_t> which;
  for (std::size_t i = 0; i < cases_.size(); ++i) which.push_back(i);
  RunTally tally = measure_round(std::move(which), rows, *measurer);
  for (unsigned round = 0; round < kRoundsAtKnee; ++round) {
    if (tally.interrupted || !measurer->usable()) break;
    which = around_knees(rows.rows());
    if (which.empty()) break;
    tally += measure_round(std::move(which), rows, *measurer);
  }
  output.finish(tally);
  if (request_.output != "-") {
    const TextStyle style = terminal_style();
    const std::string text =
        connection_text({.path = request_.output, .context = context, .rows = rows.rows()}, style);
    print_text(style.utf8 ? text : to_ascii(text));
  }
  return tally.status();
}

ExitStatus topo_connections(const ConnectionsOptions& options, const Invocation& invocation) {
  const ConnectionsRequest request = interpret_connections(options);
  if (options.dry_run) {
    const ConnectionPlan plan = plan_connections(request, {});
    std::vector<PlannedCase> cases;
    for (const ConnectionCase& one : plan.cases) cases.push_back(one.planned);
    const DryRun would = dry_run(cases, request.repetitions);
    print_text(would.text);
    for (const auto& limit : plan.limits)
      print("{} ends at {}: {}\n", limit["kind"].get<std::string>(),
            limit["active"].get<std::uint64_t>(), limit["reason"].get<std::string>());
    print("a curve with a knee: up to {} rounds of at most {} more numbers around it\n",
          kRoundsAtKnee, kNumbersAtKnee);
    print("not looked at: how many QPs the devices have\n");
    return would.measures ? ExitStatus::pass : ExitStatus::usage;
  }
  if (!request.host)
    throw UsageError(
        "say where the other end is: 'rdmameter topo connections HOST' where 'rdmameter serve' "
        "runs, or --loopback to start it here");
  return ConnectionsRun(request, invocation).measure();
}

template <class Named>
std::string names_help(std::string_view before, std::span<const Named> known) {
  std::vector<std::string_view> names;
  for (const Named& one : known) names.push_back(one.name);
  return fmt::format("{}{}. Default: all", before, fmt::join(names, ", "));
}

std::string kinds_help() {
  std::string text = "what connections are:";
  for (const ConnectionKind& kind : connection_kinds())
    text += fmt::format(" {}: {};", kind.name, kind.description);
  text.back() = '.';
  return text + " Default: all";
}

std::string axis_default(const Axis& axis) {
  if (axis.option == "size") return fmt::format("Default: {}", kDefaultSize);
  if (axis.latency_default == axis.bandwidth_default)
    return fmt::format("Default: {}", axis.latency_default);
  return fmt::format("Default: {}, for latencies {}", axis.bandwidth_default, axis.latency_default);
}

void declare_connections_options(CLI::App& app, ConnectionsOptions& options) {
  add_option(app, "HOST", options.positionals, "",
             "HOST or HOST:PORT, where `rdmameter serve` runs, or ssh://[USER@]HOST[:PORT], where "
             "it is started by ssh for this run");
  app.add_flag("--loopback", options.loopback, help_text("start the other end here, for this run"));
  app.add_flag("--dry-run", options.dry_run, help_text("print the cases, and exit"));
  add_option(app, "-o,--output", options.output, "FILE",
             "write the result, as JSON, here; -: to stdout");
  add_option(app, "--over", options.over, "KIND,...", kinds_help());
  add_option(app, "--opcode", options.opcodes, "OPCODE,...",
             names_help("what moves messages: ", connection_opcodes()));
  add_option(app, "--max-qps", options.max_qps, "N",
             "the most active connections, if the devices have so many QPs. Default: 4096");
  add_option(app, "--memory-budget", options.memory_budget, "BYTES",
             "no more connections than fit into this at either end. Default: 1G");
  add_option(app, "--window", options.window, "N",
             "messages outstanding in all; each connection has one at least. Default: 256");
  add_option(app, "--repetitions", options.repetitions, "N",
             fmt::format("measure each number N times, each time in another order of all numbers. "
                         "Default: {}",
                         kDefaultRepetitions));
  add_option(app, "--order-seed", options.order_seed, "N",
             "draw these orders from this number. Default: a new one, which the result has");
  add_option(app, "--duration", options.duration, "TIME",
             "measure each rate for this time. Default: 200ms");
  add_option(app, "--iterations", options.iterations, "N",
             "messages of each latency, two for each connection at least; 0: measure rates alone. "
             "Default: 2000");
  declare_host_options(app, options.hosts);
  for (const std::string_view axis : kChosenAxes) options.axes.axes.push_back(find_axis(axis));
  declare_axes(app, options.axes, axis_default);
}

}  // namespace

Action declare_topo_connections(CLI::App& app) {
  const auto options = std::make_shared<ConnectionsOptions>();
  declare_connections_options(app, *options);
  app.footer(kConnectionsFooter);
  return [options](const Invocation& invocation) { return topo_connections(*options, invocation); };
}

}  // namespace rdmameter
