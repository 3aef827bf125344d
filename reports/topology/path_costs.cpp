// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/path_costs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "reports/stats/least_squares.h"
#include "topologies/graphs/routes.h"
#include "topologies/traffic/traffic.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;
using Hosts = std::vector<std::string>;  ///< by rank; empty: not known

/// What the coefficients are multiplied with: of each, between hosts and within one. Delays come
/// first, so that what cannot be told from them is counted to them.
enum Term { kDelay = 0, kRelay = 2, kBytes = 4, kTerms = 6 };

Hosts hosts_of(const Json& context) {
  Hosts hosts;
  const Json::json_pointer ranks("/rdmameter/ranks");
  if (!context.contains(ranks) || !context.at(ranks).is_array()) return hosts;
  for (const Json& one : context.at(ranks)) {
    if (!one.is_object() || one.value("rank", Json()) != Json(hosts.size())) return {};
    const auto host = one.find("host");
    if (host == one.end() || !host->is_string()) return {};
    hosts.push_back(host->get<std::string>());
  }
  return hosts;
}

/// Of ranks 0 to k - 1, k to 2 k - 1 and so on; the last host may have fewer.
std::optional<std::uint64_t> equal_ranks_per_host(const Hosts& hosts) {
  std::map<std::string, std::uint64_t> seen;
  std::uint64_t per_host = 0;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const bool next = rank == 0 || hosts[rank] != hosts[rank - 1];
    if (next && seen.contains(hosts[rank])) return std::nullopt;
    if (next && rank != 0 && per_host == 0) per_host = rank;
    if (next && rank != 0 && rank % per_host != 0) return std::nullopt;
    if (per_host != 0 && !next && rank % per_host == 0) return std::nullopt;
    ++seen[hosts[rank]];
  }
  if (hosts.empty()) return std::nullopt;
  return per_host == 0 ? hosts.size() : per_host;
}

std::string path_of(const Row& row) {
  if (!row.extra.is_object()) return "";
  const auto path = row.extra.find("path");
  return path != row.extra.end() && path->is_string() ? path->get<std::string>() : "";
}

std::uint64_t number_at(const Row& row, const char* key) {
  const auto found = row.case_object.find(key);
  return found != row.case_object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>()
                                                                       : 0;
}

bool is_of_pairs(const Row& row) {
  if (row.status != Row::Status::ok || !row.topology || path_of(row) == "simulated") return false;
  const TopologyData& topology = *row.topology;
  return topology.ranks >= 2 && topology.ranks <= kMaxMatrixRanks && !topology.matrix_ns.empty() &&
         reach_of(topology.traffic) == Reach::pair &&
         row.case_object.value("transport", "") == "rc";
}

/// The routes of a row's graph, with the kind of path that each edge is.
class RowRoutes {
 public:
  /// @param hosts  empty: all ranks are on one
  RowRoutes(const Graph& graph, const Hosts& hosts) : hosts_(hosts) {
    for (Rank rank = 0; rank < graph.ranks(); ++rank) next_.push_back(tree_from(graph, rank).first);
  }

  /// One way, of the mean of there and back.
  std::vector<double> terms(Rank from, Rank to, double bytes) const {
    std::vector<double> terms(kTerms);
    add(from, to, bytes, terms);
    add(to, from, bytes, terms);
    return terms;
  }

 private:
  void add(Rank from, Rank to, double bytes, std::vector<double>& terms) const {
    constexpr double kHalf = 0.5;
    for (Rank at = from; at != to; at = next_[at][to]) {
      const Rank next = next_[at][to];
      const std::size_t within = hosts_.empty() || hosts_[at] == hosts_[next] ? 1 : 0;
      terms[(at == from ? kDelay : kRelay) + within] += kHalf;
      terms[kBytes + within] += kHalf * bytes;
    }
  }

  const Hosts& hosts_;
  std::vector<std::vector<Rank>> next_;  ///< by rank and destination
};

/// Nothing: this program does not know it, or it cannot be.
std::optional<Graph> graph_of(const Row& row) {
  const auto ranks = static_cast<Rank>(row.topology->ranks);
  const auto shape = find_shape(row.topology->graph, number_at(row, "seed"));
  if (!shape || !shape->why_not(ranks).empty()) return std::nullopt;
  return shape->make(ranks);
}

/// @return false: it cannot be told which ranks are on one host
bool add_pairs(const Row& row, const Hosts& hosts, std::vector<Observation>& pairs) {
  static const Hosts kOneHost;
  const TopologyData& topology = *row.topology;
  const std::string path = path_of(row);
  const bool one_host = path == "same_device" || path == "netdev";
  const std::optional<Graph> graph = graph_of(row);
  if (!graph || (!one_host && hosts.size() < topology.ranks)) return false;
  const RowRoutes routes(*graph, one_host ? kOneHost : hosts);
  const auto bytes = static_cast<double>(number_at(row, "size_bytes"));
  for (Rank from = 0; from < graph->ranks(); ++from)
    for (Rank to = 0; to < graph->ranks(); ++to)
      if (const auto& ns = topology.matrix_ns[from][to]; ns && *ns > 0)
        pairs.push_back({routes.terms(from, to, bytes), *ns});
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
