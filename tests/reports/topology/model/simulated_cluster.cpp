// SPDX-License-Identifier: Apache-2.0
#include "tests/reports/topology/model/simulated_cluster.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numbers>
#include <queue>
#include <random>
#include <vector>

#include "core/instrument/histogram.h"
#include "topologies/graphs/graph.h"

namespace rdmameter {
namespace {

/// The way of a message; graphs are too large to be stored.
std::uint64_t next_hop(const std::string& graph, std::uint64_t n, std::uint64_t at,
                       std::uint64_t to) {
  if (graph == "mesh") return to;
  if (graph == "hypercube") return at ^ (at ^ to) ^ ((at ^ to) & ((at ^ to) - 1));
  const std::uint64_t ahead = (to + n - at) % n;
  return ahead <= n - ahead ? (at + 1) % n : (at + n - 1) % n;
}

std::uint64_t hops_between(const std::string& graph, std::uint64_t n, std::uint64_t from,
                           std::uint64_t to) {
  if (graph == "mesh") return 1;
  if (graph == "hypercube") return static_cast<std::uint64_t>(std::popcount(from ^ to));
  const std::uint64_t ahead = (to + n - from) % n;
  return std::min(ahead, n - ahead);
}

/// A message on its way, due at a rank.
struct Event {
  double time_ns;
  std::uint64_t number;  ///< in order of making: ties are told apart
  std::uint32_t at, from, to;
  bool operator>(const Event& other) const {
    return time_ns != other.time_ns ? time_ns > other.time_ns : number > other.number;
  }
};

class Simulation {
 public:
  Simulation(const SimulatedCosts& costs, std::string graph, std::uint64_t ranks,
             std::uint64_t size_bytes, std::uint32_t seed)
      : costs_(costs),
        graph_(std::move(graph)),
        ranks_(ranks),
        bytes_ns_(static_cast<double>(size_bytes) * costs.byte_ns),
        free_ns_(ranks),
        engine_(seed) {}

  /// Half a round trip between two ranks of a quiet network.
  double ping_ns(std::uint64_t from, std::uint64_t to) {
    const double begin = now_ns_;
    for (const auto& [source, target] : {std::pair(from, to), std::pair(to, from)}) {
      send(source, source, target, now_ns_, costs_.post_ns);
      while (!events_.empty()) step();
    }
    return (now_ns_ - begin) / 2;
  }

  std::mt19937& engine() { return engine_; }

 private:
  /// A step's time: jitter, and now and then a stall.
  double noisy(double mean_ns) {
    const double u = (engine_() + 1.0) / 4294967297.0, v = engine_() / 4294967296.0;
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    const double stall = engine_() / 4294967296.0 < costs_.stalls ? 10 : 1;
    return mean_ns * std::max(0.2, 1 + costs_.jitter * normal) * stall;
  }

  void send(std::uint64_t at, std::uint64_t from, std::uint64_t to, double time_ns,
            double work_ns) {
    const std::uint64_t next = next_hop(graph_, ranks_, at, to);
    free_ns_[at] = std::max(free_ns_[at], time_ns) + noisy(work_ns) + bytes_ns_;
    events_.push({free_ns_[at] + noisy(costs_.wire_ns), made_++, static_cast<std::uint32_t>(next),
                  static_cast<std::uint32_t>(from), static_cast<std::uint32_t>(to)});
  }

  void step() {
    const Event event = events_.top();
    events_.pop();
    free_ns_[event.at] = std::max(free_ns_[event.at], event.time_ns) + noisy(costs_.receive_ns);
    now_ns_ = std::max(now_ns_, free_ns_[event.at]);
    if (event.at != event.to)
      send(event.at, event.from, event.to, free_ns_[event.at], costs_.relay_ns);
  }

  const SimulatedCosts costs_;
  const std::string graph_;
  const std::uint64_t ranks_;
  const double bytes_ns_;
  std::vector<double> free_ns_;
  std::mt19937 engine_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t made_ = 0;
  double now_ns_ = 0;
};

Row row_of(const std::string& graph, std::uint64_t ranks, std::uint64_t size_bytes,
           std::uint64_t repetition, std::uint64_t repetitions) {
  Row row;
  row.name =
      fmt::format("topo/rc/graph:{}/traffic:pairs/ranks:{}/size:{}", graph, ranks, size_bytes);
  row.case_object = {{"transport", "rc"},          {"graph", graph},
                     {"traffic", "pairs"},         {"ranks", ranks},
                     {"schedule", "simultaneous"}, {"size_bytes", size_bytes},
                     {"qps_per_edge", 1}};
  row.repetition = repetition;
  row.repetitions = repetitions;
  row.extra = {{"path", "simulated"}};
  const auto figures = shape_figures(graph, ranks);
  row.topology =
      TopologyData{.graph = graph, .traffic = "pairs", .schedule = "simultaneous", .ranks = ranks};
  row.topology->hops = {figures->hops_max, figures->hops_mean};
  row.topology->qps_per_rank.assign(ranks, figures->neighbours);
  row.topology->qps_total = ranks * figures->neighbours;
  return row;
}

std::uint32_t seed_of(const Row& row) {
  std::uint32_t seed = static_cast<std::uint32_t>(row.repetition) * 7919U;
  for (const char c : row.name) seed = seed * 31U + static_cast<unsigned char>(c);
  return seed;
}

LatencyData latency_of(const std::vector<double>& half_round_trips_ns) {
  std::map<std::uint32_t, std::uint64_t> buckets;
  LatencyData latency;
  latency.half_round_trip = true;
  HistogramData& data = latency.histogram;
  data.count = half_round_trips_ns.size();
  data.min_ns = ~0ULL;
  for (const double half_ns : half_round_trips_ns) {
    const auto value = static_cast<std::uint64_t>(std::lround(2 * half_ns));
    ++buckets[histogram_index(value)];
    data.sum_ns += value;
    data.min_ns = std::min(data.min_ns, value);
    data.max_ns = std::max(data.max_ns, value);
  }
  data.buckets = {buckets.begin(), buckets.end()};
  return latency;
}

}  // namespace

Row simulate_pairs(const SimulatedCosts& costs, const std::string& graph, std::uint64_t ranks,
                   std::uint64_t size_bytes, std::uint64_t repetition, std::uint64_t repetitions) {
  Row row = row_of(graph, ranks, size_bytes, repetition, repetitions);
  Simulation simulation(costs, graph, ranks, size_bytes, seed_of(row));
  constexpr std::uint64_t kMaxPairs = 60, kPings = 25;
  std::map<std::uint64_t, std::vector<double>> by_hops;
  std::vector<double> all;
  const bool every = ranks * (ranks - 1) <= kMaxPairs;
  for (std::uint64_t pair = 0; pair < (every ? ranks * (ranks - 1) : kMaxPairs); ++pair) {
    std::uint64_t from = pair / (ranks - 1), to = (from + 1 + pair % (ranks - 1)) % ranks;
    if (!every) {
      from = simulation.engine()() % ranks;
      to = (from + 1 + simulation.engine()() % (ranks - 1)) % ranks;
    }
    const std::uint64_t hops = hops_between(graph, ranks, from, to);
    for (std::uint64_t ping = 0; ping < (ranks > 1000 ? 2 : kPings); ++ping) {
      all.push_back(simulation.ping_ns(from, to));
      by_hops[hops].push_back(all.back());
    }
  }
  for (const auto& [hops, times] : by_hops)
    row.topology->by_hops.push_back({hops, latency_of(times)});
  row.latency = latency_of(all);
  const HistogramData& data = row.latency->histogram;
  row.iterations = data.count;
  row.real_time_ns = static_cast<double>(data.sum_ns) / static_cast<double>(data.count) / 2;
  return row;
}

}  // namespace rdmameter
