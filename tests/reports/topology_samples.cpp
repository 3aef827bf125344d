// SPDX-License-Identifier: Apache-2.0
#include "tests/reports/topology_samples.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <random>

#include "core/instrument/histogram.h"
#include "core/result/result_file.h"
#include "tests/reports/samples.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

/// Standard normal; the standard's distributions differ from library to library.
double normal(std::mt19937& engine) {
  const double u = (engine() + 1.0) / 4294967297.0, v = engine() / 4294967296.0;
  return std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
}

/// So many round trips about a one-way time.
HistogramData round_trips(double one_way_ns, std::uint64_t count, double spread,
                          std::mt19937& engine) {
  std::map<std::uint32_t, std::uint64_t> buckets;
  HistogramData data{.count = count, .min_ns = ~0ULL};
  for (std::uint64_t i = 0; i < count; ++i) {
    const double noise = std::exp(spread * normal(engine));
    const auto value = static_cast<std::uint64_t>(std::lround(2 * one_way_ns * noise));
    ++buckets[histogram_index(value)];
    data.sum_ns += value;
    data.min_ns = std::min(data.min_ns, value);
    data.max_ns = std::max(data.max_ns, value);
  }
  data.buckets = {buckets.begin(), buckets.end()};
  return data;
}

LatencyData latency_of(HistogramData histogram) {
  LatencyData latency;
  latency.half_round_trip = true;
  latency.histogram = std::move(histogram);
  return latency;
}

/// What does not depend on the traffic.
Row row_of(const std::string& graph, const std::string& traffic, std::uint64_t ranks,
           std::uint64_t size_bytes, std::uint64_t repetition, std::uint64_t repetitions) {
  Row row;
  row.name = fmt::format("topo/rc/graph:{}/traffic:{}/ranks:{}/size:{}", graph, traffic, ranks,
                         size_bytes);
  row.case_object = {{"transport", "rc"},          {"graph", graph},
                     {"traffic", traffic},         {"ranks", ranks},
                     {"schedule", "simultaneous"}, {"size_bytes", size_bytes},
                     {"qps_per_edge", 1}};
  row.repetition = repetition;
  row.repetitions = repetitions;
  row.resources = {{"qps", ranks}};
  TopologyData topology{
      .graph = graph, .traffic = traffic, .schedule = "simultaneous", .ranks = ranks};
  const auto neighbours = sample_graph(graph, ranks);
  std::uint64_t max = 0, total = 0;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const std::uint64_t degree = neighbours[rank].size();
    topology.qps_per_rank.push_back(degree);
    total += degree;
    max = std::max(max, degree);
    for (const std::uint32_t other : neighbours[rank])
      if (rank < other) topology.edges.emplace_back(rank, other);
  }
  topology.qps_total = total;
  topology.barrier_qps = ranks * static_cast<std::uint64_t>(std::ceil(std::log2(ranks)));
  topology.connect_ns = {{"create_qp", 90'000 * max}, {"modify_qp", 150'000 * max}};
  topology.setup_ns = {{"memory", 200'000}, {"barrier_qps", 240'000},
                       {"trial_qps", 0},    {"bootstrap", 400'000},
                       {"wait", 300'000},   {"first_barrier", 25'000 * ranks}};
  topology.connection_bytes = {
      {"buffers", 2 * 64 * size_bytes * max}, {"qps", 12'288 * max}, {"cqs", 4'096}, {"mrs", 512}};
  if (graph != "mesh" && ranks > 3)
    topology.relay_bytes = {{"buffers", 8 * size_bytes * ranks}, {"queues", 1'024 * ranks}};
  topology.kernel = {{"qps", max + 2},         {"cqs", 2},
                     {"cqes", 1'024},          {"mrs", 2},
                     {"mr_bytes", 64 * 1'024}, {"pinned_bytes", 68 * 1'024}};
  topology.barrier_ns = 2'500 * std::ceil(std::log2(ranks));
  row.topology = std::move(topology);
  return row;
}

Hops hops_of(const std::vector<std::vector<std::uint32_t>>& graph) {
  Hops hops;
  double sum = 0;
  for (std::uint32_t from = 0; from < graph.size(); ++from)
    for (const std::uint64_t distance : sample_distances(graph, from)) {
      hops.max = std::max(hops.max, distance);
      sum += static_cast<double>(distance);
    }
  const auto n = static_cast<double>(graph.size());
  hops.mean = sum / (n * (n - 1));
  return hops;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> sample_graph(const std::string& graph,
                                                     std::uint64_t ranks) {
  const auto n = static_cast<std::uint32_t>(ranks);
  std::vector<std::vector<std::uint32_t>> neighbours(n);
  for (std::uint32_t a = 0; a < n; ++a)
    for (std::uint32_t b = 0; b < n; ++b) {
      const std::uint32_t differ = a ^ b;
      const bool edge = graph == "mesh"   ? a != b
                        : graph == "ring" ? a != b && ((a + 1) % n == b || (b + 1) % n == a)
                                          : differ != 0 && (differ & (differ - 1)) == 0;
      if (edge) neighbours[a].push_back(b);
    }
  return neighbours;
}

std::vector<std::uint64_t> sample_distances(const std::vector<std::vector<std::uint32_t>>& graph,
                                            std::uint32_t from) {
  std::vector<std::uint64_t> distances(graph.size(), ~0ULL);
  std::vector<std::uint32_t> queue{from};
  distances[from] = 0;
  for (std::size_t i = 0; i < queue.size(); ++i)
    for (const std::uint32_t next : graph[queue[i]])
      if (distances[next] == ~0ULL) {
        distances[next] = distances[queue[i]] + 1;
        queue.push_back(next);
      }
  return distances;
}

Row pairs_row(const std::string& graph, std::uint64_t ranks, std::uint64_t size_bytes,
              std::uint64_t repetition, std::uint64_t repetitions, const SampleCosts& costs) {
  constexpr std::uint64_t kSamples = 200;
  Row row = row_of(graph, "pairs", ranks, size_bytes, repetition, repetitions);
  std::mt19937 engine(static_cast<std::uint32_t>(ranks * 1'000'003 + size_bytes * 101 + repetition +
                                                 graph.size() * 7));
  TopologyData& topology = *row.topology;
  const auto neighbours = sample_graph(graph, ranks);
  topology.hops = hops_of(neighbours);
  const double luck = std::exp(costs.spread * normal(engine));  // of the repetition
  std::map<std::uint64_t, HistogramData> by_hops;
  HistogramData all;
  for (std::uint32_t from = 0; from < ranks; ++from) {
    topology.matrix_ns.emplace_back();
    const auto distances = sample_distances(neighbours, from);
    for (std::uint32_t to = 0; to < ranks; ++to) {
      if (to == from) {
        topology.matrix_ns[from].emplace_back();
        continue;
      }
      const auto hops = static_cast<double>(distances[to]);
      double one_way = costs.alpha_ns + costs.per_hop_ns * (hops - 1) +
                       costs.beta_ns_per_byte * hops * static_cast<double>(size_bytes);
      one_way *= luck * std::exp(costs.spread * normal(engine));
      if (from + 1 == ranks || to + 1 == ranks) one_way *= costs.straggler;
      const HistogramData data = round_trips(one_way, kSamples, costs.spread, engine);
      topology.matrix_ns[from].emplace_back(static_cast<double>(percentile(data, 50)) / 2);
      merge(by_hops[distances[to]], data);
      merge(all, data);
    }
  }
  for (auto& [hops, histogram] : by_hops)
    topology.by_hops.push_back({hops, latency_of(std::move(histogram))});
  row.iterations = all.count;
  row.real_time_ns = static_cast<double>(all.sum_ns) / static_cast<double>(all.count) / 2;
  row.cpu_time_ns = row.real_time_ns * 2;
  row.latency = latency_of(std::move(all));
  return row;
}

Row summarised_row(std::uint64_t ranks, std::uint64_t repetition, std::uint64_t repetitions) {
  Row row = row_of("mesh", "pairs", ranks, 64, repetition, repetitions);
  std::mt19937 engine(static_cast<std::uint32_t>(repetition));
  TopologyData& topology = *row.topology;
  topology.hops = Hops{1, 1};
  HistogramData all = round_trips(2000, 10'000, 0.02, engine);
  topology.by_hops.push_back({1, latency_of(all)});
  row.latency = latency_of(std::move(all));
  MatrixSummary summary{.pairs = ranks * (ranks - 1),
                        .min_ns = 1901,
                        .p10_ns = 1950,
                        .p50_ns = 2000,
                        .p90_ns = 2050,
                        .p99_ns = 2101,
                        .max_ns = 4000};
  summary.slowest.push_back({7, 20, 1, 4000, 2});
  while (summary.slowest.size() < kMaxSlowestPairs)  // others in each repetition
    summary.slowest.push_back({repetition, 30 + summary.slowest.size(), 1, 2150, 1.075});
  topology.matrix_summary = std::move(summary);
  return row;
}

Row alltoall_row(const std::string& graph, std::uint64_t ranks, std::uint64_t size_bytes,
                 std::uint64_t repetition, std::uint64_t repetitions, const SampleCosts& costs) {
  Row row = row_of(graph, "alltoall", ranks, size_bytes, repetition, repetitions);
  std::mt19937 engine(static_cast<std::uint32_t>(ranks * 999'983 + size_bytes * 103 + repetition +
                                                 graph.size() * 11));
  TopologyData& topology = *row.topology;
  topology.hops = hops_of(sample_graph(graph, ranks));
  // A rank is busy with what it sends and with what it hands on: mean hops messages for each.
  const double busy_ns =
      topology.hops->mean * (600 + costs.beta_ns_per_byte * static_cast<double>(size_bytes));
  double sum = 0, squares = 0;
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    const double slow = rank + 1 == ranks ? costs.straggler : 1;
    const double gbps = 8 * static_cast<double>(size_bytes) / busy_ns / slow *
                        std::exp(costs.spread * normal(engine));
    topology.rank_gbps.push_back(gbps);
    sum += gbps;
    squares += gbps * gbps;
  }
  topology.jain = sum * sum / (static_cast<double>(ranks) * squares);
  topology.model_share = 0.9 + 0.01 * normal(engine);
  BandwidthData bandwidth;
  bandwidth.messages = 2'000 * ranks * (ranks - 1);
  bandwidth.bytes = bandwidth.messages * size_bytes;
  bandwidth.window_ns = static_cast<std::uint64_t>(8 * static_cast<double>(bandwidth.bytes) / sum);
  bandwidth.counted_by = BandwidthData::CountedBy::receiver;
  bandwidth.traffic_messages = bandwidth.messages;
  bandwidth.traffic_ns = bandwidth.window_ns + 50'000;
  bandwidth.sent = bandwidth.received = bandwidth.messages;
  row.iterations = bandwidth.messages;
  row.real_time_ns =
      static_cast<double>(bandwidth.window_ns) / static_cast<double>(bandwidth.messages);
  row.cpu_time_ns = row.real_time_ns;
  row.bandwidth = bandwidth;
  return row;
}

Json topology_context(std::uint64_t ranks) {
  const Json sample = sample_context();
  Json all = Json::array();
  for (std::uint64_t rank = 0; rank < ranks; ++rank) {
    Json one = {{"rank", rank}, {"host", rank % 2 == 0 ? "alpha" : "beta"}, {"max_qp", 4096U}};
    one.update(sample["rdmameter"][rank % 2 == 0 ? "initiator" : "responder"]);
    all.push_back(std::move(one));
  }
  ContextParts parts;
  for (const auto& [key, value] : sample.items())
    if (key != "rdmameter") parts.google_benchmark[key] = value;
  parts.command = "rdmameter topo mesh ring hypercube --ranks 8 --scale 2,4,8 --size 64,4K";
  parts.overhead = sample["rdmameter"]["floor"];
  parts.extra = {{"ranks", std::move(all)}};
  return make_context(parts);
}

std::vector<Row> topology_rows() {
  std::vector<Row> rows;
  std::uint64_t family = 0;
  for (const char* graph : {"mesh", "ring", "hypercube"})
    for (const std::uint64_t ranks : {2, 4, 8})
      for (const std::uint64_t size : {64, 4096})
        for (const auto make : {pairs_row, alltoall_row}) {
          for (std::uint64_t repetition = 0; repetition < 2; ++repetition) {
            rows.push_back(make(graph, ranks, size, repetition, 2, {}));
            rows.back().family_index = family;
          }
          ++family;
        }
  rows.push_back(pairs_row("ring", 6, 64, 0, 1, {.straggler = 3}));
  rows.back().topology->rounds = 9;
  rows.back().topology->straggler =
      Straggler{.verdict = Straggler::Verdict::node, .rank = 5, .factor = 3, .measured_again = 30};
  rows.back().family_index = family++;
  Row skipped = row_of("hypercube", "pairs", 6, 64, 0, 1);
  skipped.status = Row::Status::skipped;
  skipped.message = "A hypercube needs a power of two of ranks, not 6.";
  skipped.resources = nullptr;
  skipped.topology.reset();
  skipped.family_index = family;
  rows.push_back(std::move(skipped));
  return rows;
}

}  // namespace rdmameter
