// SPDX-License-Identifier: Apache-2.0
#include "topologies/ranks/rank_result.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>

#include "core/engine/loop/loop_state.h"
#include "core/verbs/device.h"
#include "topologies/graphs/routes.h"
#include "topologies/stragglers/straggler.h"

namespace rdmameter {
namespace {

/// The least value that is no less than this share of all. @param ascending  not empty
double nearest_rank(const std::vector<double>& ascending, double share) {
  const double rank = std::ceil(share * real(ascending.size()));
  return ascending[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

/// Calls `visit` with each pair that was measured.
template <class Visit>
void visit_pairs(const Matrix& matrix_ns, const Graph& graph, Visit visit) {
  for (Rank from = 0; from < matrix_ns.size(); ++from) {
    const Tree tree = tree_from(graph, from);
    for (Rank to = 0; to < matrix_ns[from].size(); ++to)
      if (const std::optional<double>& ns = matrix_ns[from][to])
        visit(from, to, tree.hops[to], *ns);
  }
}

bool is_slower(const MatrixSummary::Pair& a, const MatrixSummary::Pair& b) {
  return std::tuple(-a.of_median, a.from, a.to) < std::tuple(-b.of_median, b.from, b.to);
}

/// What a row keeps of a matrix that is too large for it. A long route takes longer than a short
/// one, so each pair is compared with those as many hops apart.
/// @return nothing: no pair was measured
std::optional<MatrixSummary> summarise_matrix(const Matrix& matrix_ns, const Graph& graph) {
  std::map<Rank, std::vector<double>> by_hops;
  std::vector<double> all;
  visit_pairs(matrix_ns, graph, [&](Rank, Rank, std::uint32_t hops, double ns) {
    by_hops[hops].push_back(ns);
    all.push_back(ns);
  });
  if (all.empty()) return std::nullopt;
  for (auto& [hops, times] : by_hops) std::ranges::sort(times);
  std::ranges::sort(all);
  MatrixSummary summary{.pairs = all.size(),
                        .min_ns = all.front(),
                        .p10_ns = nearest_rank(all, 0.1),
                        .p50_ns = nearest_rank(all, 0.5),
                        .p90_ns = nearest_rank(all, 0.9),
                        .p99_ns = nearest_rank(all, 0.99),
                        .max_ns = all.back()};
  auto& slowest = summary.slowest;  // a heap, the quickest on top, until it is sorted
  visit_pairs(matrix_ns, graph, [&](Rank from, Rank to, std::uint32_t hops, double ns) {
    const MatrixSummary::Pair pair{from, to, hops, ns, ns / nearest_rank(by_hops.at(hops), 0.5)};
    if (slowest.size() == kMaxSlowestPairs && !is_slower(pair, slowest.front())) return;
    slowest.push_back(pair);
    std::push_heap(slowest.begin(), slowest.end(), is_slower);
    if (slowest.size() <= kMaxSlowestPairs) return;
    std::pop_heap(slowest.begin(), slowest.end(), is_slower);
    slowest.pop_back();
  });
  std::sort_heap(slowest.begin(), slowest.end(), is_slower);
  return summary;
}

/// What a sample is of, no samples in it yet; nothing where the traffic has none.
std::optional<LatencyData> latency_kind(const TopologyPlan& plan) {
  switch (plan.traffic_mode()) {
    case TrafficMode::round_trip:  // a single walk goes past all ranks and back; others join two
                                   // ranks each
      return LatencyData{.definition = LatencyData::Definition::round_trip,
                         .half_round_trip = plan.traffic.entry->reach == Reach::pair};
    case TrafficMode::exchange:
    case TrafficMode::spread:
      return LatencyData{.definition = LatencyData::Definition::exchange};
    case TrafficMode::collective:
      return LatencyData{.definition = LatencyData::Definition::collective};
    case TrafficMode::stream:
    case TrafficMode::drawn:
      break;
  }
  return std::nullopt;
}

/// From row to column. Of the two ends of a stream each has begun when it had passed the barrier,
/// and none is done before the other one: the longer time is the stream's.
Matrix times_of_pairs(const TopologyPlan& plan, std::span<const RankResult> results) {
  const std::size_t ranks = plan.graph.ranks();
  Matrix matrix_ns(ranks, std::vector<std::optional<double>>(ranks));
  for (std::size_t from = 0; from < results.size(); ++from)
    for (std::size_t to = 0; to < std::min(ranks, results[from].matrix_row_ns.size()); ++to) {
      const double sender_ns = results[from].matrix_row_ns[to];
      const auto& column = results[to].matrix_column_ns;
      const double receiver_ns = from < column.size() ? column[from] : sender_ns;
      if (sender_ns > 0 && receiver_ns > 0) matrix_ns[from][to] = std::max(sender_ns, receiver_ns);
    }
  return matrix_ns;
}

double mean_of(const Matrix& matrix_ns) {
  double sum = 0, count = 0;
  for (const auto& row : matrix_ns)
    for (const auto& cell : row)
      if (cell) {
        sum += *cell;
        ++count;
      }
  return count > 0 ? sum / count : 0;
}

/// The pairs without a time, in both directions. A rank that only waited knows less of the reason
/// than the other one of its pair.
void add_failed_pairs(TopologyData& topology, const Matrix& matrix_ns,
                      std::span<const RankResult> results) {
  std::map<std::pair<Rank, Rank>, std::string> reasons;
  for (const bool waited : {false, true})
    for (Rank rank = 0; rank < results.size(); ++rank)
      for (const LostPair& pair : results[rank].lost_pairs)
        if (pair.waited == waited && pair.with < results.size())
          reasons.try_emplace(std::minmax(rank, pair.with),
                              fmt::format("rank {}: {}", rank, pair.reason));
  for (const auto& [pair, reason] : reasons)
    for (const auto& [from, to] : {pair, std::pair(pair.second, pair.first)})
      if (!matrix_ns[from][to] && topology.failed_pairs.size() < kMaxFailedPairs)
        topology.failed_pairs.push_back({.from = from, .to = to, .reason = reason});
}

void add_pairs(Outcome& outcome, const TopologyPlan& plan, std::span<const RankResult> results) {
  TopologyData& topology = *outcome.topology;
  Matrix matrix_ns = times_of_pairs(plan, results);
  add_failed_pairs(topology, matrix_ns, results);
  topology.rounds = rounds_of_pairs(plan).size();
  if (outcome.bandwidth)  // of streams that follow one another
    outcome.bandwidth->window_ns = outcome.bandwidth->traffic_ns = static_cast<std::uint64_t>(
        std::llround(mean_of(matrix_ns) * real(outcome.bandwidth->messages)));
  if (plan.graph.ranks() > kMaxMatrixRanks)
    topology.matrix_summary = summarise_matrix(matrix_ns, plan.graph);
  else
    topology.matrix_ns = std::move(matrix_ns);
}

void add_latency(Outcome& outcome, const TopologyPlan& plan, const RankSamples& samples) {
  const std::optional<LatencyData> kind = latency_kind(plan);
  if (!kind) return;
  outcome.latency = kind;
  TopologyData& topology = *outcome.topology;
  outcome.latency->histogram = samples.exchanges;
  for (const auto& [hops, histogram] : samples.by_hops) {
    topology.by_hops.push_back({hops, *kind});
    topology.by_hops.back().latency.histogram = histogram;
    merge(outcome.latency->histogram, histogram);
  }
}

void add_collective(Outcome& outcome, const TopologyPlan& plan, std::span<const RankResult> results,
                    const RankSamples& samples) {
  const CollectiveTotals& totals = plan.collective;
  const CollectiveKind kind = plan.traffic.entry->collective->kind;
  const Rank ranks = plan.graph.ranks();
  CollectiveData& data = outcome.topology->collective.emplace();
  data.bytes = bytes_of_words(kind, ranks, plan.words);
  data.steps = totals.steps;
  data.step_bytes = totals.step_words * kWordBytes;
  data.messages = totals.messages;
  data.sent_bytes = totals.words * kWordBytes;
  data.relayed_hops = plan.relayed_hops;
  std::vector<double> means;
  for (const RankResult& result : results) {
    means.push_back(result.collective_mean_ns);
    data.rank_mean_ns += means.back() / real(results.size());
  }
  data.rank_min_ns = *std::ranges::min_element(means);
  data.rank_max_ns = *std::ranges::max_element(means);
  const auto histogram = std::make_unique<Histogram>();
  for (const std::uint64_t ns : samples.collective_ns) histogram->record(ns);
  outcome.latency->histogram = snapshot(*histogram);
  const HistogramData& times = outcome.latency->histogram;
  outcome.operations = times.count;
  if (data.bytes == 0 || times.sum_ns == 0) return;
  data.algbw_gb_per_s = real(data.bytes) * real(times.count) / real(times.sum_ns);
  data.busbw_gb_per_s = *data.algbw_gb_per_s * bus_factor(kind, ranks);
}

void add_bandwidth(Outcome& outcome, const TestCase& test_case,
                   std::span<const RankResult> results) {
  BandwidthData& bandwidth = outcome.bandwidth.emplace();
  TopologyData& topology = *outcome.topology;
  std::vector<double> shares;
  std::uint64_t sent = 0;
  for (const RankResult& result : results) {
    bandwidth.messages += result.arrived;
    bandwidth.window_ns = std::max(bandwidth.window_ns, result.elapsed_ns);
    sent += result.sent;
    const double gbps = 8.0 * per_ns(result.sent * test_case.size_bytes, result.sending_ns);
    topology.rank_gbps.push_back(gbps);
    if (result.sent != 0) shares.push_back(gbps);
  }
  bandwidth.bytes = bandwidth.messages * test_case.size_bytes;
  if (test_case.rank_opcode == RankOpcode::send)
    bandwidth.counted_by = BandwidthData::CountedBy::receiver;
  bandwidth.traffic_messages = bandwidth.messages;
  bandwidth.traffic_ns = bandwidth.window_ns;
  if (!test_case.reliable()) {
    bandwidth.sent = sent;
    bandwidth.received = bandwidth.messages;
  }
  topology.jain = jain_index(shares);
}

/// By rank; of the reasons the first.
Json placements(std::span<const RankResult> results) {
  Json all{{"pinned", 0},
           {"reason", nullptr},
           {"cpus", Json::array()},
           {"numa_nodes", Json::array()},
           {"device_numa_nodes", Json::array()}};
  std::uint64_t pinned = 0;
  const auto add = [&all](const char* key, const std::optional<std::uint64_t>& number) {
    all[key].push_back(number ? Json(*number) : Json(nullptr));
  };
  for (const RankResult& result : results) {
    add("cpus", result.cpu);
    add("numa_nodes", result.numa_node);
    add("device_numa_nodes", result.device_numa_node);
    if (result.not_pinned.empty())
      ++pinned;
    else if (all.at("reason").is_null())
      all["reason"] = result.not_pinned;
  }
  all["pinned"] = pinned;
  return {{"ranks", std::move(all)}};
}

}  // namespace

void merge(RankSamples& samples, const RankSamples& more) {
  merge(samples.barrier, more.barrier);
  merge(samples.exchanges, more.exchanges);
  for (const auto& [hops, histogram] : more.by_hops) merge(samples.by_hops[hops], histogram);
  std::vector<std::uint64_t>& times_ns = samples.collective_ns;
  if (more.collective_ns.empty()) return;
  if (times_ns.empty()) {
    times_ns = more.collective_ns;
    return;
  }
  times_ns.resize(std::min(times_ns.size(), more.collective_ns.size()));
  for (std::size_t i = 0; i < times_ns.size(); ++i)
    times_ns[i] = std::max(times_ns[i], more.collective_ns[i]);
}

std::uint64_t& count_of(NamedCounts& counts, std::string_view name) {
  const auto found = std::ranges::find(counts, name, &NamedCounts::value_type::first);
  return found != counts.end() ? found->second : counts.emplace_back(name, 0).second;
}

std::uint64_t sum_of(const NamedCounts& counts) {
  std::uint64_t sum = 0;
  for (const auto& [name, amount] : counts) sum += amount;
  return sum;
}

namespace {

void add_counts(RankResult& sum, const RankResult& more) {
  for (std::uint64_t RankResult::*count :
       {&RankResult::operations, &RankResult::lost, &RankResult::cpu_ns, &RankResult::wrs,
        &RankResult::doorbells, &RankResult::cqes, &RankResult::polls, &RankResult::passed_on,
        &RankResult::checked_bytes})
    sum.*count += more.*count;
}

}  // namespace

void add_attempt(RankResult& result, const RankResult& later) {
  merge(result.samples, later.samples);
  for (auto row : {&RankResult::matrix_row_ns, &RankResult::matrix_column_ns})
    for (std::size_t rank = 0; rank < (result.*row).size(); ++rank)
      if ((later.*row).at(rank) > 0) (result.*row)[rank] = (later.*row)[rank];
  result.lost_pairs.insert(result.lost_pairs.end(), later.lost_pairs.begin(),
                           later.lost_pairs.end());
  add_counts(result, later);
  result.elapsed_ns += later.elapsed_ns;
  result.sending_ns += later.sending_ns;
  result.sent += later.sent;
  result.arrived += later.arrived;
}

TestCase as_measured(const TestCase& asked, std::span<const RankResult> results,
                     const OpenDevice* first) {
  TestCase test_case = asked;
  for (const RankResult& result : results)
    if (result.mtu_bytes != 0)
      test_case.path.mtu_bytes = std::min<std::uint64_t>(
          test_case.path.mtu_bytes, result.mtu_bytes);  // kAuto is the greatest
  test_case.registration.relaxed_ordering = asked.relaxes_ordering() ? 1 : 0;
  test_case.queues.thread_domain = std::ranges::all_of(results, &RankResult::thread_domain) ? 1 : 0;
  if (first == nullptr) return test_case;
  if (is_iwarp(*first->context)) test_case.path.mtu_bytes = 0;  // TCP has segments
  test_case.wait = std::ranges::any_of(results, &RankResult::yielding) ? Wait::yield : Wait::spin;
  EndSettings& end = test_case.initiator;
  if (end.device.find('%') == std::string::npos) end.device = first->port.device;
  end.port_num = first->port.number;
  end.gid_index = first->gid.index;
  return test_case;
}

Outcome merge_results(const TopologyPlan& plan, std::span<const RankResult> results) {
  const TestCase& test_case = plan.test_case;
  Outcome outcome;
  TopologyData& topology =
      outcome.topology.emplace(TopologyData{.graph = test_case.graph,
                                            .traffic = test_case.traffic,
                                            .schedule = test_case.schedule,
                                            .ranks = test_case.ranks,
                                            .edges = plan.graph.edges(),
                                            .hops = Hops{plan.hops.max, plan.hops.mean},
                                            .qps_total = 0,
                                            .barrier_qps = 0});
  RankResult all;
  RankSamples& samples = all.samples;
  for (const RankResult& result : results) {
    topology.qps_per_rank.push_back(result.qps);
    *topology.qps_total += result.qps;
    *topology.barrier_qps += result.barrier_qps;
    topology.yielding |= result.yielding;
    if (sum_of(result.connect_ns) > sum_of(topology.connect_ns))
      topology.connect_ns = result.connect_ns;
    for (const auto& [step, ns] : result.setup_ns) {
      std::uint64_t& slowest = count_of(topology.setup_ns, step);
      slowest = std::max(slowest, ns);
    }
    if (sum_of(result.connection_bytes) > sum_of(topology.connection_bytes)) {
      topology.connection_bytes = result.connection_bytes;
      topology.kernel = result.kernel;
    }
    if (sum_of(result.relay_bytes) > sum_of(topology.relay_bytes))
      topology.relay_bytes = result.relay_bytes;
    merge(samples, result.samples);
    add_counts(all, result);
    outcome.elapsed_ns = std::max(outcome.elapsed_ns, result.elapsed_ns);
  }
  outcome.operations = all.operations;
  outcome.cpu_ns = all.cpu_ns;
  if (samples.barrier.count > 0) topology.barrier_ns = real(percentile(samples.barrier, 50));
  add_latency(outcome, plan, samples);
  if (plan.traffic_mode() == TrafficMode::collective)
    add_collective(outcome, plan, results, samples);
  else if (plan.traffic_mode() != TrafficMode::round_trip)
    add_bandwidth(outcome, test_case, results);
  if (plan.in_rounds()) add_pairs(outcome, plan, results);
  if (!test_case.reliable() && plan.traffic_mode() == TrafficMode::round_trip)
    outcome.lost = all.lost;
  outcome.work = {
      {"wrs", all.wrs}, {"doorbells", all.doorbells}, {"cqes", all.cqes}, {"polls", all.polls}};
  outcome.extra["passed_on"] = all.passed_on;
  outcome.extra["placement"] = placements(results);
  if (test_case.verify) outcome.extra["verified_bytes"] = all.checked_bytes;
  return outcome;
}

}  // namespace rdmameter
