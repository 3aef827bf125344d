// SPDX-License-Identifier: Apache-2.0
#include "bench/commands/topo_simulate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

#include "bench/running/runner.h"
#include "bench/running/status_line.h"
#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "reports/stats/sample.h"
#include "reports/summary/facts.h"
#include "reports/text/table.h"
#include "reports/text/text.h"
#include "reports/topology/model/model.h"
#include "reports/topology/model/rank_places.h"
#include "reports/topology/model_text.h"
#include "topologies/axes/rank_axes.h"
#include "topologies/simulator/simulator.h"
#include "topologies/traffic/traffic.h"

namespace rdmameter {
namespace {

/// What one takes, roughly: it depends on how many ranks share the caches.
constexpr double kMessage_s = 2e-6;
constexpr double kLong_s = 60;

void tell_if_long(std::uint64_t messages) {
  const double seconds = static_cast<double>(messages) * kMessage_s;
  if (seconds < kLong_s) return;
  tell_lines(
      "rdmameter: this case simulates {:.0f} million messages, which takes about {} or more; fewer "
      "--iterations, no --warmup, another --traffic or --pairs sampled:K take less; "
      "Ctrl-C ends it\n",
      static_cast<double>(messages) / 1e6, clock_text(seconds));
}

class SimulatedMeasurer final : public Measurer {
 public:
  SimulatedMeasurer(const SimNetwork& network, const StopFlag& stop)
      : network_(network), stop_(stop) {}

  Outcome measure(const TestCase& test_case) override {
    Outcome outcome = simulate(test_case, network_, stop_, tell_if_long);
    outcome.extra["path"] = "simulated";
    return outcome;
  }

 private:
  const SimNetwork network_;
  const StopFlag& stop_;
};

/// Those that change what a simulation does, or that it refuses with a reason of its own.
constexpr std::string_view kKnownAxes[] = {
    "transport",  "traffic",      "pairs",      "schedule", "ranks", "inflate",
    "active",     "qps-per-edge", "opcode",     "seed",     "size",  "depth",
    "cq-sharing", "recv",         "iterations", "warmup",   "verify"};

/// Of a stream eight times what a rank may have under way: of one time its rate would be that of a
/// burst, which waits for nothing. Of many ranks so much takes minutes.
std::uint64_t messages_of_stream(const TestCase& test_case) {
  constexpr std::uint64_t kLeast = 512, kWindows = 8, kMostOfAll = 1ULL << 21;
  std::uint64_t window = test_case.queues.depth;
  if (read_traffic(test_case.traffic).entry->flow_set == FlowSet::edges)
    if (const auto figures = shape_figures(test_case.graph, test_case.ranks))
      window *= std::max<std::uint64_t>(1, figures->neighbours);
  const std::uint64_t most = std::max(kLeast, kMostOfAll / test_case.ranks);
  return std::clamp(kWindows * window, kLeast, most);
}

/// All samples of a pair are alike, and those of an exchange begin at a barrier; but a p50 takes 20
/// of all ranks. A stream needs time to fill its queues.
void set_counts(TestCase& test_case, std::span<const GivenAxis> given) {
  const TrafficMode mode = read_traffic(test_case.traffic).entry->traffic_mode;
  const bool streams = mode == TrafficMode::stream || mode == TrafficMode::drawn;
  if (find_given(given, "iterations") == nullptr)
    test_case.iterations = streams ? messages_of_stream(test_case) : 1 + 20 / test_case.ranks;
  if (find_given(given, "warmup") == nullptr) test_case.warmup = streams ? 64 : 0;
}

}  // namespace

std::unique_ptr<Measurer> make_simulated_measurer(const std::string& network,
                                                  const StopFlag& stop) {
  return std::make_unique<SimulatedMeasurer>(read_network(network), stop);
}

void make_simulated(std::vector<PlannedCase>& cases, const std::string& network,
                    std::span<const GivenAxis> given) {
  read_network(network);  // a dry run refuses it, too
  for (const GivenAxis& axis : given)
    if (std::ranges::find(kKnownAxes, axis.option()) == std::end(kKnownAxes))
      throw UsageError(
          "--simulate, --{}: the simulated network does not know it; leave one of them out",
          axis.option());
  for (PlannedCase& planned : cases) {
    planned.name += "/simulated";
    planned.test_case.initiator.device = "simulated:" + network;
    set_counts(planned.test_case, given);
    if (planned.why_skipped.empty()) planned.why_skipped = why_not_simulated(planned.test_case);
  }
}

namespace {

constexpr std::uint64_t kMaxCheckedRanks = 32;

using Parts = std::map<std::string, std::string>;

/// "key:value,key:value". A part without a value is left for read_network() to refuse.
Parts parts_of(std::string_view text) {
  Parts parts;
  for (const std::string_view part : split(text, ",")) {
    const std::size_t colon = std::min(part.find(':'), part.size());
    parts.emplace(part.substr(0, colon), part.substr(std::min(colon + 1, part.size())));
  }
  return parts;
}

std::string delay_value(double ns) {
  return fmt::format("{}ns", std::max<std::int64_t>(1, std::llround(ns)));
}

/// In whole Mb/s.
std::string rate_value(double ns_per_byte) {
  constexpr double kMbpsOfBytePerNs = 8000;
  const std::int64_t mbps = std::max<std::int64_t>(1, std::llround(kMbpsOfBytePerNs / ns_per_byte));
  return fmt::format("{}Mb/s", std::min<std::int64_t>(mbps, 10'000'000));
}

/// Adds the file's costs of a kind of path that were not typed.
void add_path(const KnownCosts& costs, const std::string& prefix, Parts& parts) {
  if (costs.alpha_ns) parts.emplace(prefix + "delay", delay_value(*costs.alpha_ns));
  if (costs.per_hop_ns) parts.emplace(prefix + "relay", delay_value(*costs.per_hop_ns));
  if (costs.beta_ns_per_byte) parts.emplace(prefix + "rate", rate_value(*costs.beta_ns_per_byte));
}

[[noreturn]] void refuse(const std::string& file, const std::string& why) {
  throw UsageError("--simulate from:{}: {}", file, why);
}

void refuse_without_rows(const std::string& file, const PathCosts& costs) {
  if (costs.rows != 0) return;
  if (costs.yielding != 0)
    refuse(file,
           "its ranks shared cores (yielding), so its times are those of waiting for a core; "
           "measure it with a core for each rank");
  if (costs.unknown_hosts != 0) refuse(file, "it does not say which of its ranks are on one host");
  refuse(file,
         "it has no measured times of pairs of up to 256 ranks over RC; measure "
         "'topo mesh ring --traffic pairs --size 8,4K'");
}

/// What of a kind of path the file does not tell, and cannot be done without.
void require(const std::string& file, const Parts& parts, const std::string& prefix,
             const std::string& where) {
  if (!parts.contains(prefix + "delay"))
    refuse(file, fmt::format("no two of its ranks were {0}, so it does not tell their delay: add "
                             "{1}delay:SECONDS and {1}rate:BITS, or ranks-per-host:N",
                             where, prefix));
  if (!parts.contains(prefix + "rate"))
    refuse(file, fmt::format("times of pairs {} do not tell a rate: measure two sizes, such as "
                             "--size 8,64K, or add {}rate:BITS",
                             where, prefix));
}

/// In the order of kNetworkForm, and then what read_network() is to refuse.
std::string joined(Parts parts) {
  std::string text;
  for (const char* key :
       {"delay", "relay", "rate", "ranks-per-host", "host-delay", "host-relay", "host-rate",
        "ranks-per-numa", "numa-in-turn", "numa-delay", "numa-relay", "numa-rate"})
    if (const auto part = parts.extract(key))
      add_item(text, fmt::format("{}:{}", key, part.mapped()), ",");
  for (const auto& [key, value] : parts)
    if (key != "from") text += fmt::format(",{}:{}", key, value);
  return text;
}

/// Takes from the file what was not typed: how many ranks a host has, and what paths within a host
/// and between hosts cost.
void fill_parts(const std::string& file, const PathCosts& costs, std::uint64_t ranks,
                Parts& parts) {
  const KnownCosts &within = costs.of_kind[PairKind::same_host],
                   &between = costs.of_kind[PairKind::other_host];
  if (costs.ranks_per_host && between.alpha_ns)
    parts.emplace("ranks-per-host", fmt::format("{}", *costs.ranks_per_host));
  const auto told = parts.find("ranks-per-host");
  const std::uint64_t per_host = told == parts.end() ? 1 : parse_count(told->second).value_or(1);
  if (per_host > 1) {
    add_path(within, "host-", parts);
    require(file, parts, "host-", "on one host");
  }
  // If all ranks are on one host, paths between hosts are of no use, and are as those within it.
  add_path(per_host >= ranks && !between.alpha_ns ? within : between, "", parts);
  require(file, parts, "", "on different hosts");
}

std::optional<double> message_ns(const Row& row) {
  const auto latency_ns = mean_latency_ns(row);
  return latency_ns ? latency_ns : message_interval_ns(row);
}

/// Are they alike in all that a simulation knows?
bool is_same_case(const Row& measured, const Row& simulated) {
  static constexpr const char* kKnown[] = {"transport", "graph",        "traffic",    "pairs",
                                           "schedule",  "ranks",        "seed",       "size_bytes",
                                           "depth",     "qps_per_edge", "cq_sharing", "inflate",
                                           "active",    "recv",         "opcode"};
  return std::ranges::all_of(kKnown, [&](const char* key) {
    return fact_at(measured.case_object, key) == fact_at(simulated.case_object, key);
  });
}

bool is_of_a_measurement(const Row& row) {
  return row.status == Row::Status::ok && row.topology && !row.topology->yielding &&
         row_path(row) != "simulated";
}

/// Are the ranks that were measured on hosts as the network has them, where it is known?
bool are_placed_so(const RankPlaces& places, const SimNetwork& network) {
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    if (places[rank].host != rank / network.ranks_per_host) return false;
  return true;
}

/// Medians of the repetitions; nothing: it was not measured.
std::optional<double> measured_ns(const ResultFile& source, const Row& simulated,
                                  const SimNetwork& network) {
  const RankPlaces hosts = hosts_of(source.context);
  std::vector<double> all;
  for (const Row& row : source.rows)
    if (is_of_a_measurement(row) && is_same_case(row, simulated) &&
        are_placed_so(hosts_of(row, hosts), network))
      if (const auto ns = message_ns(row)) all.push_back(*ns);
  return known_median(all);
}

/// Were ranks of a host on several of them, in some row?
bool has_numa_nodes(const ResultFile& source) {
  std::vector<const Row*> rows;
  for (const Row& row : source.rows)
    if (is_of_a_measurement(row)) rows.push_back(&row);
  return std::ranges::any_of(places_of(rows, hosts_of(source.context)), [](const auto& places) {
    return std::ranges::any_of(places,
                               [](const RankPlace& one) { return one.numa_node.has_value(); });
  });
}

}  // namespace

NetworkChoice choose_network(const std::string& typed, std::uint64_t ranks) {
  Parts parts = parts_of(typed);
  const auto from = parts.find("from");
  if (from == parts.end()) return {.text = typed};
  const std::string path = from->second;
  NetworkChoice choice{.source = read_result(path)};
  choice.costs = fit_path_costs(*choice.source);
  refuse_without_rows(path, choice.costs);
  fill_parts(path, choice.costs, ranks, parts);
  choice.text = joined(std::move(parts));
  return choice;
}

std::vector<std::uint64_t> checked_ranks(const NetworkChoice& network) {
  std::set<std::uint64_t> ranks;
  for (const Row& row : network.source->rows)
    if (is_of_a_measurement(row) && row.topology->ranks <= kMaxCheckedRanks)
      ranks.insert(row.topology->ranks);
  return {ranks.begin(), ranks.end()};
}

std::vector<NetworkCheck> check_network(const NetworkChoice& network,
                                        std::span<const PlannedCase> cases, const StopFlag& stop) {
  std::vector<NetworkCheck> checks;
  const SimNetwork simulated_network = read_network(network.text);
  for (const PlannedCase& planned : cases) {
    if (!planned.why_skipped.empty()) continue;
    const Row row =
        measured_row({planned, 0, 0, 1}, simulate(planned.test_case, simulated_network, stop));
    const auto measured = measured_ns(*network.source, row, simulated_network),
               simulated = message_ns(row);
    if (measured && simulated)
      checks.push_back({row.topology->graph, row.topology->traffic, row.topology->ranks,
                        message_size_of(row), *measured, *simulated});
  }
  return checks;
}

std::string network_text(const NetworkChoice& network, std::span<const NetworkCheck> checks,
                         const TextStyle& style) {
  const PathCosts& costs = network.costs;
  std::string text =
      wrap("", fmt::format("network of {}: {}", printable(network.source->path), network.text),
           style.width);
  std::string from =
      fmt::format("From {} rows of traffic pairs; their pairs differ from it by {:.1f} %.",
                  costs.rows, 100 * costs.spread);
  if (costs.yielding + costs.unknown_hosts != 0)
    from +=
        fmt::format(" Not used: {} rows of ranks that shared cores, {} whose hosts are not known.",
                    costs.yielding, costs.unknown_hosts);
  if (has_numa_nodes(*network.source))
    from +=
        " Ranks of a host were on several NUMA nodes, which are not told apart: add ranks-per-numa "
        "or numa-in-turn, and numa-delay, for costs of their own.";
  if (checks.empty())
    from +=
        " No case of this run was measured at up to 32 ranks with as many on a host: no error is "
        "known.";
  text += wrap("  ", from, style.width);
  if (checks.empty()) return text + "\n";
  Table table;
  table.columns = {
      {"ranks"},     {.head = "graph", .is_text = true}, {.head = "traffic", .is_text = true},
      {"size", "B"}, {"measured", "", "a message"},      {"simulated", "", "a message"},
      {"error", "%"}};
  table.key_columns = 4;
  for (const NetworkCheck& check : checks)
    table.add_line({check.ranks, printable(check.graph), printable(check.traffic), check.size_bytes,
                    time_value(check.measured_ns), time_value(check.simulated_ns),
                    fmt::format("{:+.1f}", 100 * (check.simulated_ns / check.measured_ns - 1))});
  return text + render(table, style) + "\n";
}

Json network_json(const NetworkChoice& network, std::span<const NetworkCheck> checks) {
  auto each = Json::array();
  for (const NetworkCheck& check : checks)
    each.push_back({{"graph", check.graph},
                    {"traffic", check.traffic},
                    {"ranks", check.ranks},
                    {"size_bytes", check.size_bytes},
                    {"measured_ns", check.measured_ns},
                    {"simulated_ns", check.simulated_ns}});
  return {{"file", network.source->path},
          {"rows", network.costs.rows},
          {"spread", network.costs.spread},
          {"checks", std::move(each)}};
}

}  // namespace rdmameter
