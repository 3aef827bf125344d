// SPDX-License-Identifier: Apache-2.0
#include "topologies/rank_result.h"

#include <algorithm>

#include "core/error.h"
#include "core/loop/traffic.h"

namespace rdmameter {
namespace {

using nlohmann::json;

json histogram_to_wire(const HistogramData& data) {
  json index = json::array(), n = json::array();
  for (const auto& [bucket, count] : data.buckets) {
    index.push_back(bucket);
    n.push_back(count);
  }
  return {{"count", data.count},
          {"sum", data.sum_ns},
          {"min", data.min_ns},
          {"max", data.max_ns},
          {"overflow", data.overflow},
          {"index", index},
          {"n", n}};
}

HistogramData histogram_from_wire(const json& wire) {
  HistogramData data;
  data.count = wire.at("count");
  data.sum_ns = wire.at("sum");
  data.min_ns = wire.at("min");
  data.max_ns = wire.at("max");
  data.overflow = wire.at("overflow");
  const std::vector<std::uint32_t> index = wire.at("index");
  const std::vector<std::uint64_t> n = wire.at("n");
  for (std::size_t i = 0; i < std::min(index.size(), n.size()); ++i)
    data.buckets.emplace_back(index[i], n[i]);
  return data;
}

/// Plain members, by the name that they have on the wire.
template <class Result, class Visit>
void visit_numbers(Result& result, Visit visit) {
  visit("device", result.device);
  visit("qps", result.qps);
  visit("barrier_qps", result.barrier_qps);
  visit("operations", result.operations);
  visit("lost", result.lost);
  visit("sent", result.sent);
  visit("arrived", result.arrived);
  visit("elapsed_ns", result.elapsed_ns);
  visit("sending_ns", result.sending_ns);
  visit("cpu_ns", result.cpu_ns);
  visit("wrs", result.wrs);
  visit("doorbells", result.doorbells);
  visit("cqes", result.cqes);
  visit("polls", result.polls);
  visit("passed_on", result.passed_on);
  visit("checked_bytes", result.checked_bytes);
  visit("mtu_bytes", result.mtu_bytes);
  visit("yielding", result.yielding);
}

/// Of each step or kind the largest amount of any rank.
void raise_to(Amounts& most, const Amounts& of_rank) {
  for (const auto& [name, amount] : of_rank) {
    const auto found = std::ranges::find(most, name, &std::pair<std::string, std::uint64_t>::first);
    if (found == most.end())
      most.emplace_back(name, amount);
    else
      found->second = std::max(found->second, amount);
  }
}

std::uint64_t sum_of(const Amounts& amounts) {
  std::uint64_t sum = 0;
  for (const auto& [name, amount] : amounts) sum += amount;
  return sum;
}

TopologyTally::Sample sample_of(const TopologyPlan& plan) {
  switch (plan.drive()) {
    case Drive::walk:
      return plan.flows.walks.size() == 1 ? TopologyTally::Sample::turn
                                          : TopologyTally::Sample::pair;
    case Drive::exchange:
    case Drive::spread:
      return TopologyTally::Sample::exchange;
    case Drive::stream:
    case Drive::drawn:
      break;
  }
  return TopologyTally::Sample::none;
}

void add_latency(TopologyTally& tally, const TopologyPlan& plan,
                 std::span<const RankResult> results) {
  std::map<std::uint64_t, HistogramData> by_hops;
  for (const RankResult& result : results) {
    merge(tally.latency, result.exchanges);
    for (const auto& [hops, histogram] : result.by_hops) {
      merge(by_hops[hops], histogram);
      merge(tally.latency, histogram);
    }
  }
  tally.by_hops.assign(by_hops.begin(), by_hops.end());
  if (tally.sample != TopologyTally::Sample::pair) return;
  const std::size_t ranks = plan.graph.ranks();
  for (const RankResult& result : results) {
    std::vector<std::optional<double>>& row = tally.matrix_ns.emplace_back(ranks);
    for (std::size_t to = 0; to < std::min(ranks, result.matrix_row_ns.size()); ++to)
      if (result.matrix_row_ns[to] > 0) row[to] = result.matrix_row_ns[to];
  }
}

void add_bandwidth(Outcome& outcome, const Case& one_case, std::span<const RankResult> results) {
  BandwidthTally& bandwidth = outcome.bandwidth.emplace();
  TopologyTally& tally = *outcome.topology;
  std::vector<double> shares;
  std::uint64_t sent = 0;
  for (const RankResult& result : results) {
    bandwidth.messages += result.arrived;
    bandwidth.window_ns = std::max(bandwidth.window_ns, result.elapsed_ns);
    sent += result.sent;
    const double gbps = result.sending_ns == 0
                            ? 0
                            : 8.0 * static_cast<double>(result.sent * one_case.size_bytes) /
                                  static_cast<double>(result.sending_ns);
    tally.rank_gbps.push_back(gbps);
    if (result.sent != 0) shares.push_back(gbps);
  }
  bandwidth.by_receiver = one_case.between_ranks() == RankOpcode::send;
  bandwidth.traffic_messages = bandwidth.messages;
  bandwidth.traffic_ns = bandwidth.window_ns;
  if (!one_case.reliable()) {
    bandwidth.sent = sent;
    bandwidth.received = bandwidth.messages;
  }
  tally.jain = jain_index(shares);
}

}  // namespace

std::string rank_result_to_wire(const RankResult& result) {
  if (!result.failure.empty())
    return json{{"failure", result.failure}}.dump(-1, ' ', false, json::error_handler_t::replace);
  json wire{{"setup_ns", result.setup_ns},
            {"memory_bytes", result.memory_bytes},
            {"kernel", result.kernel},
            {"barrier", histogram_to_wire(result.barrier)},
            {"exchanges", histogram_to_wire(result.exchanges)},
            {"matrix_row_ns", result.matrix_row_ns},
            {"by_hops", json::array()}};
  for (const auto& [hops, histogram] : result.by_hops)
    wire["by_hops"].push_back({hops, histogram_to_wire(histogram)});
  visit_numbers(result, [&](const char* name, const auto& number) { wire[name] = number; });
  return wire.dump();
}

RankResult rank_result_from_wire(const std::string& text) {
  try {
    const json wire = json::parse(text);
    RankResult result;
    if (wire.contains("failure")) {
      result.failure = wire["failure"];
      return result;
    }
    result.setup_ns = wire.at("setup_ns").get<Amounts>();
    result.memory_bytes = wire.at("memory_bytes").get<Amounts>();
    result.kernel = wire.at("kernel").get<Amounts>();
    result.barrier = histogram_from_wire(wire.at("barrier"));
    result.exchanges = histogram_from_wire(wire.at("exchanges"));
    result.matrix_row_ns = wire.at("matrix_row_ns").get<std::vector<double>>();
    for (const json& each : wire.at("by_hops"))
      result.by_hops[each.at(0)] = histogram_from_wire(each.at(1));
    visit_numbers(result, [&](const char* name, auto& number) { wire.at(name).get_to(number); });
    return result;
  } catch (const json::exception& error) {
    throw MeasurementError(std::string("a rank's result cannot be read: ") + error.what());
  }
}

double jain_index(std::span<const double> shares) {
  double sum = 0, squares = 0;
  for (const double share : shares) {
    sum += share;
    squares += share * share;
  }
  return squares == 0 ? 1 : sum * sum / (static_cast<double>(shares.size()) * squares);
}

Outcome merge_results(const Case& one_case, const TopologyPlan& plan,
                      std::span<const RankResult> results) {
  Outcome outcome;
  outcome.effective = one_case;
  TopologyTally& tally = outcome.topology.emplace();
  tally.sample = sample_of(plan);
  tally.edges = plan.graph.edges();
  tally.hops_max = plan.most_hops;
  tally.hops_mean = plan.mean_hops;
  HistogramData barrier;
  std::uint64_t lost = 0, wrs = 0, doorbells = 0, cqes = 0, polls = 0, passed_on = 0, checked = 0,
                most_memory = 0;
  for (const RankResult& result : results) {
    tally.qps_per_rank.push_back(result.qps);
    tally.barrier_qps += result.barrier_qps;
    tally.yielding |= result.yielding;
    raise_to(tally.setup_ns, result.setup_ns);
    if (sum_of(result.memory_bytes) > most_memory) {
      most_memory = sum_of(result.memory_bytes);
      tally.memory_bytes = result.memory_bytes;
      tally.kernel = result.kernel;
    }
    merge(barrier, result.barrier);
    outcome.operations += result.operations;
    outcome.elapsed_ns = std::max(outcome.elapsed_ns, result.elapsed_ns);
    outcome.cpu_ns += result.cpu_ns;
    lost += result.lost;
    wrs += result.wrs;
    doorbells += result.doorbells;
    cqes += result.cqes;
    polls += result.polls;
    passed_on += result.passed_on;
    checked += result.checked_bytes;
    if (result.mtu_bytes != 0)
      outcome.effective.mtu_bytes =
          outcome.effective.mtu_bytes == kAuto
              ? result.mtu_bytes
              : std::min<std::uint64_t>(outcome.effective.mtu_bytes, result.mtu_bytes);
  }
  if (barrier.count > 0) tally.barrier_ns = static_cast<double>(percentile(barrier, 50));
  add_latency(tally, plan, results);
  if (plan.drive() != Drive::walk) add_bandwidth(outcome, one_case, results);
  if (!one_case.reliable() && plan.drive() == Drive::walk) outcome.lost = lost;
  outcome.work = {{"wrs", wrs}, {"doorbells", doorbells}, {"cqes", cqes}, {"polls", polls}};
  outcome.more["passed_on"] = passed_on;
  if (one_case.verify != 0) outcome.more["verified_bytes"] = checked;
  return outcome;
}

}  // namespace rdmameter
