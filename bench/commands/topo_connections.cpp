// SPDX-License-Identifier: Apache-2.0
// rdmameter topo connections: rate, latency and memory over the number of active connections
// between two ends, and the knee. It measures the cases that follow from what is asked and from the
// devices, then more numbers of connections around each knee; its command line stands last.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <random>

#include "bench/cases/cases.h"
#include "bench/cases/connection_cases.h"
#include "bench/cases/dry_run.h"
#include "bench/cases/words.h"
#include "bench/doctor/examination_text.h"
#include "bench/options/command.h"
#include "bench/options/measuring_options.h"
#include "bench/options/prediction_options.h"
#include "bench/options/run_hosts.h"
#include "bench/running/benchmark_flags.h"
#include "bench/running/lines/run_output.h"
#include "bench/running/measurers.h"
#include "bench/running/result_context.h"
#include "bench/running/runner.h"
#include "core/base/error.h"
#include "core/base/lists.h"
#include "core/base/parse_value.h"
#include "core/engine/case_memory.h"
#include "core/log/print.h"
#include "core/result/output_file.h"
#include "reports/summary/facts.h"
#include "reports/text/text.h"
#include "reports/topology/connections.h"

namespace rdmameter {
namespace {

/// With a number of repetitions; axes are those of the settings.
struct ConnectionsRequest : MeasuringOptions {  // of the positionals one, HOST
  HostOptions host_options;
  std::vector<ConnectionKind> kinds;
  std::vector<ConnectionOpcode> opcodes;
  std::uint64_t max_qps = 4096, memory_budget_bytes = 1 << 30;
  std::uint64_t order_seed = 0;
  ConnectionSettings settings;

  std::optional<RunTarget> host;  ///< what they name; nothing: not said, as a dry run may leave it
};

/// How many QPs a device has for the connections of a run; nothing: it does not say.
struct DeviceQps {
  std::optional<std::uint64_t> initiator, responder;
  std::string reason;
};

struct ConnectionPlan {
  std::vector<ConnectionCase> cases;
  /// For each curve that ends before --max-qps: where it ends, and why.
  Json limits = Json::array();
};

/// Where a curve ends, if not at --max-qps.
struct CurveEnd {
  std::uint64_t active;
  std::string reason;  ///< empty: --max-qps
};

std::optional<std::uint64_t> max_qp_of(const Json& environment) {
  const Json& told = fact_at(environment, "/device/max_qp");
  return told.is_number_unsigned() ? std::optional(told.get<std::uint64_t>()) : std::nullopt;
}

bool share_device(const Json& a, const Json& b) {
  return std::ranges::all_of(std::array{"/boot_id", "/device/name"}, [&](const char* path) {
    return fact_at(a, path).is_string() && fact_at(a, path) == fact_at(b, path);
  });
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

/// The devices' limits of QPs, from the environments of both ends. Two ends on one device have half
/// of its QPs each.
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

/// @throws UsageError  nothing is left to measure; an axis that no case uses
ConnectionPlan plan_connections(const ConnectionsRequest& request, const DeviceQps& qps) {
  ConnectionPlan plan;
  std::uint64_t most = 0;
  for (const ConnectionOpcode& opcode : request.opcodes)
    for (const ConnectionKind& kind : request.kinds) {
      if (!kind.carries(opcode.opcode)) continue;
      const CurveEnd end = curve_end(request, kind, opcode, qps);
      if (!end.reason.empty())
        plan.limits.push_back({{"kind", fmt::format("{}, {}", opcode.name, kind.name)},
                               {"active", end.active},
                               {"reason", end.reason}});
      for (const std::uint64_t active : doubling_to(end.active))
        for (const bool rate : {true, false})
          if (rate || request.settings.iterations != 0)
            plan.cases.push_back(connection_case(kind, opcode, active, rate, request.settings));
      most = std::max(most, end.active);
    }
  if (plan.cases.empty())
    throw UsageError(
        most == 0 && !plan.limits.empty()
            ? fmt::format("not even one connection fits: {}",
                          plan.limits.front().at("reason").get<std::string>())
            : "--over srq and ud carry sends alone: add rc or shared, or --opcode send");
  refuse_unused(request.settings.given, mapped(plan.cases, &ConnectionCase::planned));
  return plan;
}

constexpr double kNarrow = 1.02;  ///< a knee between numbers of a smaller ratio is found
/// At most so many rounds around a knee, each with at most so many more numbers.
constexpr unsigned kRoundsAtKnee = 3, kNumbersAtKnee = 7;

/// Writes into each row which point of which curve it is.
class CurveRows final : public RunOutput {
 public:
  /// @param cases  borrowed; more may come to them
  CurveRows(const std::string& output, const Json& context,
            const std::vector<ConnectionCase>& cases)
      : RunOutput(output, context, {}), cases_(cases) {
    keep_without_lines();
  }

  void row(const Row& row) override {
    const ConnectionCase& about = cases_[row.family_index];
    const TestCase& test_case = about.planned.test_case;
    Row marked = row;
    marked.extra["connections"] = {
        {"kind", about.kind},
        {"opcode", about.opcode},
        {"active", about.active},
        {"memory_bytes", case_memory_bytes(DeviceCase::usual(test_case, Role::initiator))},
        {"peer_memory_bytes", case_memory_bytes(DeviceCase::usual(test_case, Role::responder))}};
    RunOutput::row(marked);
  }

 private:
  const std::vector<ConnectionCase>& cases_;
};

std::optional<ConnectionOpcode> connection_opcode(std::string_view name) {
  const auto found = std::ranges::find(connection_opcodes(), name, &ConnectionOpcode::name);
  return found == connection_opcodes().end() ? std::nullopt : std::optional(*found);
}

struct ConnectionsRun {
  const ConnectionsRequest& request;
  const Invocation& invocation;
  const ClockChoice clock = choose_clock();
  std::vector<ConnectionCase> cases = {};

  ExitStatus measure() {
    check_writable(request.output);
    const BenchmarkFlags flags = initialize_benchmark({}, *request.repetitions);
    const std::unique_ptr<Measurer> measurer = open();
    ConnectionPlan plan = plan_connections(request, device_qps(*measurer));
    cases = std::move(plan.cases);
    Json context = result_context(invocation.command_line, {}, flags, clock, *measurer);
    context["rdmameter"]["order_seed"] = request.order_seed;
    context["rdmameter"]["connections"] = {{"max_qps", request.max_qps},
                                           {"memory_budget_bytes", request.memory_budget_bytes},
                                           {"window", request.settings.window},
                                           {"limits", plan.limits}};
    tell_worst_findings();
    CurveRows rows(request.output, context, cases);
    const ExitStatus status = rows.finish(measure_rounds(rows, *measurer));
    if (request.output != "-") {
      const TextStyle style = terminal_style();
      const std::string text =
          connection_text({.path = request.output, .context = context, .rows = rows.kept()}, style);
      print_text(style.utf8 ? text : to_ascii(text));
    }
    return status;
  }

  /// By the first kind and opcode that can be measured; without one the device is not needed.
  std::unique_ptr<Measurer> open() {
    std::vector<PlannedCase> tried;
    for (const ConnectionKind& kind : request.kinds)
      for (const ConnectionOpcode& opcode : request.opcodes)
        if (kind.carries(opcode.opcode))
          tried.push_back(connection_case(kind, opcode, 1, true, request.settings).planned);
    return make_measurer(*request.host, tried, clock, invocation.interrupt);
  }

  /// All cases, then those around knees.
  RunTally measure_rounds(CurveRows& rows, Measurer& measurer) {
    RunTally tally;
    EarlierRounds earlier;
    std::vector<std::size_t> which;
    for (std::size_t i = 0; i < cases.size(); ++i) which.push_back(i);
    for (unsigned round = 0; !which.empty(); ++round) {
      const auto planned = mapped(cases, &ConnectionCase::planned);
      tally += run_round(
          {planned, measurer, invocation.interrupt.word(), rows},
          {.which = which, .repetitions = *request.repetitions, .seed = request.order_seed + round},
          earlier);
      if (round == kRoundsAtKnee || tally.interrupted || !measurer.usable()) break;
      which = around_knees(rows.kept());
    }
    return tally;
  }

  /// The case of a rate, which is made where there is none.
  std::size_t place_of(const ConnectionCurve& curve, std::uint64_t active) {
    const auto found = std::ranges::find_if(cases, [&](const ConnectionCase& one) {
      return one.rate && one.kind == curve.kind && one.opcode == curve.opcode &&
             one.active == active;
    });
    if (found != cases.end()) return static_cast<std::size_t>(found - cases.begin());
    cases.push_back(connection_case(*connection_kind(curve.kind), *connection_opcode(curve.opcode),
                                    active, true, request.settings));
    return cases.size() - 1;
  }

  /// What to measure so that knees become narrower: both ends of each, what lies between them, and
  /// the rate that they were compared with, so that all were measured at the same time.
  std::vector<std::size_t> around_knees(const std::vector<Row>& rows) {
    std::vector<std::size_t> which;
    const auto add = [&](const ConnectionCurve& curve, std::uint64_t active) {
      add_once(which, place_of(curve, active));
    };
    for (const ConnectionCurve& curve : connection_curves(rows)) {
      const Knee& knee = curve.knee;
      if (!knee.found() && !knee.undecided()) continue;
      const std::uint64_t low = knee.fast, high = knee.found() ? knee.slow : knee.most;
      if (knee.found() &&
          (high - low <= 1 || static_cast<double>(high) < kNarrow * static_cast<double>(low)))
        continue;
      for (const auto& [active, point] : curve.points)
        if (!point.mmsg_per_s.empty() && ((active >= low && active <= high) || active == knee.best))
          add(curve, active);
      if (!knee.found()) continue;
      for (const std::uint64_t active : between(low, high, kNumbersAtKnee)) add(curve, active);
    }
    return which;
  }
};

constexpr std::uint64_t kMaxConnections = 65536;
constexpr std::uint64_t kDefaultRepetitions = 5;

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
    "rate falls by 10 %. docs/topologies-reference.md says how.\n\n"
    "Examples:\n"
    "  rdmameter topo connections 192.0.2.1 -o connections.json\n"
    "  rdmameter topo connections --loopback --over rc --opcode write --max-qps 512\n"
    "  rdmameter show connections.json";

/// Of a list those that it names, each once; of an empty one all.
/// @param find  the one of a name, if there is one
template <class Named, class Find>
std::vector<Named> named_in(std::string_view option, std::string_view list,
                            std::span<const Named> known, std::string_view takes, Find find) {
  const auto names = mapped(known, [](const Named& one) { return std::string_view(one.name); });
  std::vector<Named> found;
  if (list.empty()) return {known.begin(), known.end()};
  for (const std::string_view word : split(list, ",")) {
    const std::optional<Named> one = find(word);
    if (!one)
      throw UsageError("{} '{}': takes {}, several with commas between them{}", option, list, takes,
                       did_you_mean(word, names));
    if (std::ranges::find(found, one->name, &Named::name) == found.end()) found.push_back(*one);
  }
  return found;
}

/// One value of an axis, in its one spelling.
std::string one_value(std::string_view option, std::string_view text) {
  const std::vector<std::string> values = read_axis_list(*find_axis(option), text);
  if (values.size() != 1) throw UsageError("--{} '{}': takes one value here", option, text);
  return values.front();
}

std::string read_duration(const std::string& text) {
  const std::string duration = one_value("duration", text);
  if (parse_seconds_ns(duration).value_or(0) == 0)
    throw invalid_value("--duration", text, "a time above 0, as it ends by itself");
  return duration;
}

std::uint64_t read_iterations(const std::string& text) {
  return text == "0" ? 0 : *parse_count(one_value("iterations", text));
}

/// Fills what the options say together.
ConnectionsRequest completed(ConnectionsRequest request) {
  std::vector<GivenAxis>& given = request.settings.given;
  for (const GivenAxis& one : given) {
    if (one.values.size() != 1) throw UsageError("--{}: takes one value here", one.option());
    if (one.option() == "device" && one.values.front() == "null")
      throw UsageError("--device null: that device has no connections");
    if ((one.option() == "device" || one.option() == "peer-device") &&
        names_several({.device = one.values.front()}))
      throw UsageError("--{}: takes one device here, whose connections are counted", one.option());
  }
  if (find_given(given, "size") == nullptr) given.push_back({find_axis("size"), {kDefaultSize}});
  request.host = one_host(request.positionals, request.host_options);
  return request;
}

ExitStatus topo_connections(const ConnectionsRequest& typed, const Invocation& invocation) {
  const ConnectionsRequest request = completed(typed);
  if (request.dry_run) {
    const ConnectionPlan plan = plan_connections(request, {});
    const DryRun would =
        dry_run(mapped(plan.cases, &ConnectionCase::planned), *request.repetitions);
    std::string text = would.text;
    for (const auto& limit : plan.limits)
      text += fmt::format("{} ends at {}: {}\n", limit.at("kind").get<std::string>(),
                          limit.at("active").get<std::uint64_t>(),
                          limit.at("reason").get<std::string>());
    text +=
        fmt::format("a curve with a knee: up to {} rounds of at most {} more numbers around it\n",
                    kRoundsAtKnee, kNumbersAtKnee);
    print_text(for_stdout(text + "not looked at: how many QPs the devices have\n"));
    return would.measures ? ExitStatus::pass : ExitStatus::usage;
  }
  if (!request.host)
    throw UsageError(
        "say where the other end is: 'rdmameter topo connections HOST' where 'rdmameter serve' "
        "runs, or --loopback to start it here");
  return ConnectionsRun{request, invocation}.measure();
}

std::string kinds_help() {
  std::string text = "what connections are:";
  for (const ConnectionKind& kind : connection_kinds())
    text += fmt::format(" {}: {};", kind.name, kind.description);
  text.back() = '.';
  return text + " shared:T takes any T up to 256. Default: all of these";
}

std::string axis_default(const Axis& axis) {
  if (axis.option == "size") return fmt::format("Default: {}", kDefaultSize);
  if (axis.latency_default == axis.bandwidth_default)
    return fmt::format("Default: {}", axis.latency_default);
  return fmt::format("Default: {}, for latencies {}", axis.bandwidth_default, axis.latency_default);
}

void declare_connections_options(CLI::App& app, ConnectionsRequest& request) {
  add_option(app, "HOST", request.positionals, "",
             "HOST or HOST:PORT, where `rdmameter serve` runs, or ssh://[USER@]HOST[:PORT], where "
             "it is started by ssh for this run");
  add_flag(app, "--loopback", request.host_options.loopback,
           "start the other end here, for this run");
  add_flag(app, "--dry-run", request.dry_run, "print the cases, and exit");
  declare_output_option(app, request);
  request.kinds.assign(connection_kinds().begin(), connection_kinds().end());
  add_option(app, "--over", request.kinds, "KIND,...", kinds_help(), [](const std::string& list) {
    return named_in("--over", list, connection_kinds(), "rc, srq, ud, shared:T (2 to 256 threads)",
                    connection_kind);
  });
  request.opcodes.assign(connection_opcodes().begin(), connection_opcodes().end());
  const auto names = mapped(connection_opcodes(), &ConnectionOpcode::name);
  add_option(app, "--opcode", request.opcodes, "OPCODE,...",
             fmt::format("what moves messages: {}. Default: all", fmt::join(names, ", ")),
             [](const std::string& list) {
               return named_in("--opcode", list, connection_opcodes(), "send, write, read",
                               connection_opcode);
             });
  add_count(app, "--max-qps", request.max_qps,
            fmt::format("the most active connections, if the devices have so many QPs. Default: {}",
                        request.max_qps),
            1, kMaxConnections);
  add_option(app, "--memory-budget", request.memory_budget_bytes, "BYTES",
             "no more connections than fit into this at either end. Default: 1G",
             read_memory_budget);
  add_count(app, "--window", request.settings.window,
            "messages outstanding in all; each connection has one at least. Default: 256", 1,
            32768);
  request.repetitions = kDefaultRepetitions;
  declare_repetitions_option(
      app, request,
      fmt::format("measure each number N times, each time in another order of all numbers. "
                  "Default: {}",
                  kDefaultRepetitions));
  request.order_seed = std::random_device{}();
  add_count(app, "--order-seed", request.order_seed,
            "draw these orders from this number. Default: a new one, which the result has", 0,
            UINT32_MAX);
  add_option(app, "--duration", request.settings.duration, "TIME",
             "measure each rate for this time. Default: 200ms", read_duration);
  add_option(app, "--iterations", request.settings.iterations, "N",
             "messages of each latency, two for each connection at least; 0: measure rates alone. "
             "Default: 2000",
             read_iterations);
  declare_host_options(app, request.host_options);
  const auto chosen = mapped(kChosenAxes, [](std::string_view axis) { return find_axis(axis); });
  declare_axes(app, chosen, {}, request.settings.given, axis_default);
}

}  // namespace

Action declare_topo_connections(CLI::App& app) {
  const auto request = std::make_shared<ConnectionsRequest>();
  declare_connections_options(app, *request);
  app.footer(kConnectionsFooter);
  return [request](const Invocation& invocation) { return topo_connections(*request, invocation); };
}

}  // namespace rdmameter
