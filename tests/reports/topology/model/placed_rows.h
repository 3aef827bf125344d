// SPDX-License-Identifier: Apache-2.0
// Rows of ranks whose places are known, and what each kind of edge costs them.
#pragma once

#include <cmath>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "core/instrument/histogram.h"
#include "reports/topology/model/costs.h"
#include "tests/reports/topology/model/noisy_costs.h"
#include "topologies/graphs/routes.h"
#include "topologies/stragglers/straggler.h"

namespace rdmameter {

inline constexpr Costs kBetweenHosts{
    .alpha_ns = 5'000, .per_hop_ns = 6'000, .beta_ns_per_byte = 0.08};
inline constexpr Costs kBetweenNodes{
    .alpha_ns = 1'600, .per_hop_ns = 2'100, .beta_ns_per_byte = 0.04};
inline constexpr Costs kWithinHost{
    .alpha_ns = 1'000, .per_hop_ns = 1'500, .beta_ns_per_byte = 0.02};

/// @param per_host  ranks, one after the other
inline RankPlaces placed(Rank ranks, Rank per_host) {
  RankPlaces places;
  for (Rank rank = 0; rank < ranks; ++rank)
    places.push_back({.host = rank / per_host, .numa_node = {}});
  return places;
}

/// On two NUMA nodes of each host: the first half of its ranks on one of them, or in turn.
inline RankPlaces placed_on_nodes(Rank ranks, Rank per_host, bool in_turn = false) {
  RankPlaces places = placed(ranks, per_host);
  for (Rank rank = 0; rank < ranks; ++rank)
    places[rank].numa_node = in_turn ? rank % per_host % 2 : rank % per_host / (per_host / 2);
  return places;
}

inline nlohmann::ordered_json context_of(const RankPlaces& places) {
  nlohmann::ordered_json context;
  for (std::size_t rank = 0; rank < places.size(); ++rank)
    context["rdmameter"]["ranks"].push_back(
        {{"rank", rank}, {"host", "node" + std::to_string(places[rank].host)}});
  return context;
}

/// Of two ranks that exchange messages without a relay.
inline const Costs& true_costs(const RankPlace& a, const RankPlace& b) {
  if (a.host != b.host) return kBetweenHosts;
  return a.numa_node == b.numa_node ? kWithinHost : kBetweenNodes;
}

/// Times of all pairs, that of each edge by its kind. They are walked edge by edge here.
inline Matrix times_between(const std::string& graph, const RankPlaces& places, double bytes) {
  const auto ranks = static_cast<Rank>(places.size());
  const Graph made = find_shape(graph)->make(ranks);
  std::vector<Tree> trees;
  for (Rank rank = 0; rank < ranks; ++rank) trees.push_back(tree_from(made, rank));
  const auto one_way_ns = [&](Rank from, Rank to) {
    double ns = 0;
    for (Rank at = from; at != to; at = trees[at].first[to]) {
      const Costs& costs = true_costs(places[at], places[trees[at].first[to]]);
      ns += (at == from ? costs.alpha_ns : costs.per_hop_ns) + bytes * costs.beta_ns_per_byte;
    }
    return ns;
  };
  Matrix times(ranks, std::vector<std::optional<double>>(ranks));
  for (Rank from = 0; from < ranks; ++from)
    for (Rank to = 0; to < ranks; ++to)
      if (from != to) times[from][to] = (one_way_ns(from, to) + one_way_ns(to, from)) / 2;
  return times;
}

inline LatencyData samples_of(const std::vector<double>& one_way_ns) {
  const auto histogram = std::make_unique<Histogram>();
  for (const double ns : one_way_ns) histogram->record(static_cast<std::uint64_t>(2 * ns));
  LatencyData latency;
  latency.half_round_trip = true;
  latency.histogram = snapshot(*histogram);
  return latency;
}

/// With the NUMA nodes that are known, of pinned ranks.
inline nlohmann::ordered_json placement_of(const RankPlaces& places) {
  nlohmann::ordered_json nodes = nlohmann::ordered_json::array();
  for (const RankPlace& place : places)
    nodes.push_back(place.numa_node ? nlohmann::ordered_json(*place.numa_node) : nullptr);
  return {{"ranks", {{"pinned", places.size()}, {"reason", nullptr}, {"numa_nodes", nodes}}}};
}

/// @param noise  relative, one sigma: of the row and of each pair
inline Row placed_row(const std::string& graph, const RankPlaces& places, std::uint64_t bytes,
                      double noise, std::mt19937& engine) {
  Row row;
  row.case_object = {{"transport", "rc"},
                     {"graph", graph},
                     {"traffic", "pairs"},
                     {"size_bytes", bytes},
                     {"ranks", places.size()}};
  row.extra = {{"path", "network"}, {"placement", placement_of(places)}};
  TopologyData& topology = row.topology.emplace();
  topology.graph = graph;
  topology.traffic = "pairs";
  topology.ranks = places.size();
  topology.matrix_ns = times_between(graph, places, real(bytes));
  const double luck = noise * normal(engine);
  const Graph made = find_shape(graph)->make(static_cast<Rank>(places.size()));
  std::map<std::uint64_t, std::vector<double>> by_hops;
  for (Rank from = 0; from < places.size(); ++from)
    for (Rank to = 0; to < places.size(); ++to)
      if (auto& ns = topology.matrix_ns[from][to]) {
        *ns *= std::exp(luck + noise * normal(engine));
        by_hops[tree_from(made, from).hops[to]].push_back(*ns);
      }
  for (auto& [hops, times] : by_hops) topology.by_hops.push_back({hops, samples_of(times)});
  return row;
}

/// Does the fit have these costs, but for a relative error?
inline bool has_costs(const CostFit& fit, PairKind kind, const Costs& truth, double error) {
  const KnownCosts costs = fit.costs_of(kind);
  const auto near = [&](const std::optional<double>& value, double true_value) {
    return value && std::abs(*value / true_value - 1) <= error;
  };
  return near(costs.alpha_ns, truth.alpha_ns) && near(costs.per_hop_ns, truth.per_hop_ns) &&
         near(costs.beta_ns_per_byte, truth.beta_ns_per_byte);
}

}  // namespace rdmameter
