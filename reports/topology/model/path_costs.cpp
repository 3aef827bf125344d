// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/model/path_costs.h"

#include <cmath>
#include <vector>

#include "reports/stats/least_squares.h"
#include "reports/summary/facts.h"
#include "reports/topology/model/model.h"
#include "topologies/traffic/traffic.h"

namespace rdmameter {
namespace {

bool is_of_pairs(const Row& row) {
  if (row.status != Row::Status::ok || !row.topology || row_path(row) == "simulated") return false;
  const TopologyData& topology = *row.topology;
  return topology.ranks >= 2 && topology.ranks <= kMaxMatrixRanks && !topology.matrix_ns.empty() &&
         reach_of(topology.traffic) == Reach::pair && fact_at(row.case_object, "transport") == "rc";
}

/// @return false: it cannot be told which ranks are on one host
bool add_pairs(const Row& row, const RankPlaces& places, std::vector<Observation>& pairs) {
  const std::optional<Graph> graph = graph_of(row);
  if (!graph || places.empty()) return false;
  const PlacedRoutes routes(*graph, places);
  const auto bytes = real(message_size_of(row));
  for (const auto& [from, to, ns] : times_of(row.topology->matrix_ns))
    if (ns > 0) pairs.push_back({CostFit::terms(routes.route(from, to), bytes), ns});
  return true;
}

KnownCosts costs_of(const LeastSquares& fit, std::size_t kind) {
  const auto value = [&](std::size_t sort) {
    const std::size_t at = sort * kHostKinds + kind;  // where CostFit::terms() has it
    return fit.known[at] && fit.coefficients[at] > 0 ? std::optional(fit.coefficients[at])
                                                     : std::nullopt;
  };
  return {.alpha_ns = value(0), .per_hop_ns = value(1), .beta_ns_per_byte = value(2)};
}

}  // namespace

PathCosts fit_path_costs(const ResultFile& file) {
  const RankPlaces hosts = hosts_of(file.context);
  PathCosts costs{.of_kind = {}, .ranks_per_host = equal_ranks_per_host(hosts)};
  std::vector<Observation> pairs;
  for (const Row& row : file.rows) {
    if (!is_of_pairs(row)) continue;
    if (row.topology->yielding)
      ++costs.yielding;
    else
      ++(add_pairs(row, hosts_of(row, hosts), pairs) ? costs.rows : costs.unknown_hosts);
  }
  if (pairs.empty()) return costs;
  const LeastSquares fit = least_squares(pairs);
  for (std::size_t kind = 0; kind < kHostKinds; ++kind) costs.of_kind[kind] = costs_of(fit, kind);
  costs.spread = std::sqrt(fit.squares / real(pairs.size()));
  return costs;
}

}  // namespace rdmameter
