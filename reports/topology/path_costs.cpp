// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/path_costs.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "reports/stats/least_squares.h"
#include "reports/topology/costs.h"
#include "reports/topology/host_paths.h"
#include "topologies/traffic/traffic.h"

namespace rdmameter {
namespace {

/// Where CostFit::terms() has them: of each, between hosts and within one.
enum Term { kDelay = 0, kRelay = 2, kBytes = 4 };

std::uint64_t number_at(const Row& row, const char* key) {
  const auto found = row.case_object.find(key);
  return found != row.case_object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>()
                                                                       : 0;
}

bool is_of_pairs(const Row& row) {
  if (row.status != Row::Status::ok || !row.topology || row_path(row) == "simulated") return false;
  const TopologyData& topology = *row.topology;
  return topology.ranks >= 2 && topology.ranks <= kMaxMatrixRanks && !topology.matrix_ns.empty() &&
         reach_of(topology.traffic) == Reach::pair &&
         row.case_object.value("transport", "") == "rc";
}

/// @return false: it cannot be told which ranks are on one host
bool add_pairs(const Row& row, const Hosts& of_result, std::vector<Observation>& pairs) {
  const TopologyData& topology = *row.topology;
  Hosts hosts = hosts_of(row, of_result);
  const std::optional<Graph> graph = graph_of(row);
  if (!graph || hosts.empty()) return false;
  const HostRoutes routes(*graph, std::move(hosts));
  const auto bytes = static_cast<double>(number_at(row, "size_bytes"));
  for (Rank from = 0; from < graph->ranks(); ++from)
    for (Rank to = 0; to < graph->ranks(); ++to)
      if (const auto& ns = topology.matrix_ns[from][to]; ns && *ns > 0)
        pairs.push_back({CostFit::terms(routes.path(from, to), bytes), *ns});
  return true;
}

PathCost cost_of(const LeastSquares& fit, std::size_t within) {
  const auto value = [&](std::size_t term) {
    const std::size_t at = term + within;
    return fit.known[at] && fit.coefficients[at] > 0 ? std::optional(fit.coefficients[at])
                                                     : std::nullopt;
  };
  return {.delay_ns = value(kDelay), .relay_delay_ns = value(kRelay), .ns_per_byte = value(kBytes)};
}

}  // namespace

PathCosts fit_path_costs(const ResultFile& file) {
  const Hosts hosts = hosts_of(file.context);
  PathCosts costs{
      .between_hosts = {}, .within_host = {}, .ranks_per_host = equal_ranks_per_host(hosts)};
  std::vector<Observation> pairs;
  for (const Row& row : file.rows) {
    if (!is_of_pairs(row)) continue;
    if (row.topology->yielding)
      ++costs.yielding;
    else if (add_pairs(row, hosts, pairs))
      ++costs.rows;
    else
      ++costs.unknown_hosts;
  }
  if (pairs.empty()) return costs;
  const LeastSquares fit = least_squares(pairs);
  costs.between_hosts = cost_of(fit, 0);
  costs.within_host = cost_of(fit, 1);
  costs.spread = std::sqrt(fit.squares / static_cast<double>(pairs.size()));
  return costs;
}

}  // namespace rdmameter
