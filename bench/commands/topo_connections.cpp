// SPDX-License-Identifier: Apache-2.0
// The command line of rdmameter topo connections: rate, latency and memory over the number of
// active connections between two ends, and the knee.
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
#include "bench/commands/connections_run.h"
#include "bench/options/command.h"
#include "bench/options/measuring_options.h"
#include "bench/options/prediction_options.h"
#include "bench/options/run_hosts.h"
#include "core/base/error.h"
#include "core/base/lists.h"
#include "core/base/parse_value.h"
#include "core/log/print.h"
#include "reports/text/text.h"

namespace rdmameter {
namespace {

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

std::optional<ConnectionOpcode> connection_opcode(std::string_view name) {
  const auto found = std::ranges::find(connection_opcodes(), name, &ConnectionOpcode::name);
  return found == connection_opcodes().end() ? std::nullopt : std::optional(*found);
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
  return measure_connections(request, invocation);
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
