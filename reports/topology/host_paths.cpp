// SPDX-License-Identifier: Apache-2.0
#include "reports/topology/host_paths.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "core/base/error.h"
#include "core/base/parse_value.h"
#include "topologies/graphs/routes.h"

namespace rdmameter {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t index(HostKind kind) {
  return static_cast<std::size_t>(kind);
}

HostKind kind_of(const Hosts& hosts, Rank a, Rank b) {
  return hosts[a] == hosts[b] ? HostKind::same_host : HostKind::other_host;
}

/// The share of all pairs that are on one host.
double share_on_one_host(const Hosts& hosts) {
  std::map<std::uint32_t, double> ranks;
  for (const std::uint32_t host : hosts) ++ranks[host];
  double pairs = 0;
  for (const auto& [host, count] : ranks) pairs += count * (count - 1);
  return pairs / real(hosts.size()) / real(hosts.size() - 1);
}

/// Spread over all ranks and, as the golden ratio is far from any fraction, over the places within
/// hosts too.
std::vector<Rank> sources_among(Rank ranks, std::uint64_t count) {
  std::vector<Rank> sources;
  constexpr double kGoldenRatio = 0.6180339887498949, kMiddle = 0.5;
  if (count < ranks) {
    for (std::uint64_t i = 0; i < count; ++i) {
      const double turns = (real(i) + kMiddle) * kGoldenRatio;
      sources.push_back(static_cast<Rank>((turns - std::floor(turns)) * real(ranks)));
    }
  } else {
    for (Rank rank = 0; rank < ranks; ++rank) sources.push_back(rank);
  }
  return sources;
}

/// The routes from one rank to all others; the last edge of a route is the first one back.
std::vector<HostPath> paths_from(const Tree& tree, const Hosts& hosts, Rank root) {
  constexpr double kHalf = 0.5;
  std::vector<std::vector<Rank>> by_hops;
  for (Rank rank = 0; rank < hosts.size(); ++rank) {
    const std::size_t hops = tree.hops[rank];
    if (rank == root || hops == kUnreachable) continue;
    if (by_hops.size() <= hops) by_hops.resize(hops + 1);
    by_hops[hops].push_back(rank);
  }
  std::vector<HostPath> paths(hosts.size());
  for (const std::vector<Rank>& ranks : by_hops)
    for (const Rank rank : ranks) {
      const Rank before = tree.parent[rank];
      const std::size_t last = index(kind_of(hosts, before, rank));
      HostPath& path = paths[rank];
      path.hops = paths[before].hops;
      ++path.hops[last];
      path.first[index(kind_of(hosts, root, tree.first[rank]))] += kHalf;
      path.first[last] += kHalf;
    }
  return paths;
}

/// Nothing: there is no such shape, not of so many ranks, or it could not be drawn.
std::optional<Graph> graph_of(const std::string& text, std::uint64_t ranks, std::uint64_t seed) {
  const auto shape = find_shape(text, seed);
  if (!shape || ranks > kMaxPredictedRanks || !shape->why_not(static_cast<Rank>(ranks)).empty())
    return std::nullopt;
  try {
    return shape->make(static_cast<Rank>(ranks));
  } catch (const Unsupported&) {
    return std::nullopt;
  }
}

/// Each pair has an edge of its own.
PairsByKind direct_pairs() {
  PairsByKind pairs;
  for (std::size_t kind = 0; kind < kHostKinds; ++kind) {
    HostPath path;
    path.first[kind] = path.hops[kind] = 1;
    pairs[kind] = {.share = {}, .mean = path, .paths = {path}};
  }
  return pairs;
}

void add_shares(PairsByKind& pairs, const Hosts& hosts) {
  if (hosts.empty()) return;
  const double same = share_on_one_host(hosts);
  pairs[index(HostKind::same_host)].share = same;
  pairs[index(HostKind::other_host)].share = 1 - same;
}

/// Another one for each path: all of it are halves, of fewer than 2^29 edges.
std::uint64_t key_of(const HostPath& path) {
  const auto halves = [](double value) { return static_cast<std::uint64_t>(2 * value); };
  return halves(path.hops[0]) << 34 | halves(path.hops[1]) << 4 | halves(path.first[0]) << 2 |
         halves(path.first[1]);
}

PairsByKind relayed_pairs(const Graph& graph, const Hosts& hosts, std::uint64_t sources) {
  PairsByKind pairs;
  std::array<double, kHostKinds> counts{};
  std::array<std::unordered_set<std::uint64_t>, kHostKinds> seen;
  for (const Rank source : sources_among(graph.ranks(), sources)) {
    const std::vector<HostPath> paths = paths_from(tree_from(graph, source), hosts, source);
    for (Rank to = 0; to < graph.ranks(); ++to) {
      if (!(paths[to].all_hops() > 0)) continue;
      const std::size_t kind = index(kind_of(hosts, source, to));
      ++counts[kind];
      if (seen[kind].insert(key_of(paths[to])).second) pairs[kind].paths.push_back(paths[to]);
      for (std::size_t edge = 0; edge < kHostKinds; ++edge) {
        pairs[kind].mean.first[edge] += paths[to].first[edge];
        pairs[kind].mean.hops[edge] += paths[to].hops[edge];
      }
    }
  }
  for (std::size_t kind = 0; kind < kHostKinds; ++kind) {
    if (counts[kind] > 0)
      for (auto* sums : {&pairs[kind].mean.first, &pairs[kind].mean.hops})
        for (double& sum : *sums) sum /= counts[kind];
  }
  return pairs;
}

/// As typed to --simulate: "delay:2us,ranks-per-host:4".
Hosts simulated_hosts(const Row& row) {
  constexpr std::string_view kPart = "ranks-per-host:";
  const auto device = row.case_object.find("device");
  if (device == row.case_object.end() || !device->is_string()) return {};
  const auto network = device->get<std::string>();
  const std::size_t part = network.find(kPart);
  if (part == network.npos) return {};
  const std::size_t begin = part + kPart.size();
  const auto per_host = parse_count(network.substr(begin, network.find(',', begin) - begin));
  if (!per_host || *per_host == 0) return {};
  Hosts hosts(row.topology->ranks);
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    hosts[rank] = static_cast<std::uint32_t>(rank / *per_host);
  return hosts;
}

}  // namespace

std::string row_path(const Row& row) {
  if (!row.extra.is_object()) return "";
  const auto path = row.extra.find("path");
  return path != row.extra.end() && path->is_string() ? path->get<std::string>() : "";
}

Hosts hosts_of(const Json& context) {
  const Json::json_pointer ranks("/rdmameter/ranks");
  if (!context.contains(ranks) || !context.at(ranks).is_array()) return {};
  Hosts hosts;
  std::map<std::string, std::uint32_t> numbers;
  for (const Json& one : context.at(ranks)) {
    if (!one.is_object() || one.value("rank", Json()) != Json(hosts.size())) return {};
    const auto host = one.find("host");
    if (host == one.end() || !host->is_string()) return {};
    const auto next = static_cast<std::uint32_t>(numbers.size());
    hosts.push_back(numbers.emplace(host->get<std::string>(), next).first->second);
  }
  return hosts;
}

Hosts hosts_of(const Row& row, const Hosts& of_result) {
  const std::uint64_t ranks = row.topology->ranks;
  const std::string path = row_path(row);
  if (ranks > kMaxPredictedRanks) return {};
  if (path == "simulated") return simulated_hosts(row);
  if (path == "same_device" || path == "netdev") return Hosts(ranks, 0);
  if (of_result.size() < ranks) return {};
  return {of_result.begin(), of_result.begin() + static_cast<std::ptrdiff_t>(ranks)};
}

std::optional<std::uint64_t> equal_ranks_per_host(const Hosts& hosts) {
  if (hosts.empty()) return std::nullopt;
  const auto per_host = static_cast<std::uint64_t>(std::ranges::count(hosts, 0U));
  for (std::size_t rank = 0; rank < hosts.size(); ++rank)
    if (hosts[rank] != rank / per_host) return std::nullopt;
  return per_host;
}

Hosts hosts_at(const Hosts& measured, std::uint64_t ranks) {
  if (ranks <= measured.size())
    return {measured.begin(), measured.begin() + static_cast<std::ptrdiff_t>(ranks)};
  if (measured.empty()) return {};
  const auto per_host = static_cast<std::uint64_t>(std::ranges::count(measured, 0U));
  const std::uint64_t hosts = std::ranges::max(measured) + 1;
  bool in_turn = true;
  for (std::size_t rank = 0; rank < measured.size(); ++rank)
    in_turn = in_turn && measured[rank] == rank % hosts;
  const bool in_blocks = equal_ranks_per_host(measured).has_value();
  if (!in_blocks && !in_turn) return {};
  const std::uint64_t more_hosts = (ranks + per_host - 1) / per_host;
  Hosts at(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank)
    at[rank] = static_cast<std::uint32_t>(in_blocks ? rank / per_host : rank % more_hosts);
  return at;
}

HostRoutes::HostRoutes(const Graph& graph, Hosts hosts) : hosts_(std::move(hosts)) {
  for (Rank rank = 0; rank < graph.ranks(); ++rank) next_.push_back(tree_from(graph, rank).first);
}

HostPath HostRoutes::path(Rank from, Rank to) const {
  HostPath path;
  add(from, to, path);
  add(to, from, path);
  return path;
}

HostKind HostRoutes::kind(Rank a, Rank b) const {
  return kind_of(hosts_, a, b);
}

void HostRoutes::add(Rank from, Rank to, HostPath& path) const {
  constexpr double kHalf = 0.5;
  for (Rank at = from; at != to; at = next_[at][to]) {
    const std::size_t edge = index(kind_of(hosts_, at, next_[at][to]));
    if (at == from) path.first[edge] += kHalf;
    path.hops[edge] += kHalf;
  }
}

std::optional<Graph> graph_of(const Row& row) {
  const auto seed = row.case_object.find("seed");
  const bool seeded = seed != row.case_object.end() && seed->is_number_unsigned();
  return graph_of(row.topology->graph, row.topology->ranks,
                  seeded ? seed->get<std::uint64_t>() : 0);
}

std::optional<PairsByKind> pairs_by_kind(const ShapeFigures& figures, std::uint64_t ranks,
                                         const Hosts& hosts) {
  constexpr std::uint64_t kMaxEnds = 1U << 22, kMaxVisits = 1U << 20, kMinSources = 16;
  PairsByKind pairs;
  if (figures.hops_max == 1) {
    pairs = direct_pairs();
  } else {
    const auto ends = static_cast<std::uint64_t>(std::ceil(real(ranks) * figures.neighbours_mean));
    if (hosts.empty() || ends > kMaxEnds) return std::nullopt;
    const std::optional<Graph> made = graph_of(figures.graph, ranks, 0);
    if (!made) return std::nullopt;
    pairs = relayed_pairs(*made, hosts,
                          std::max(kMaxVisits / std::max<std::uint64_t>(ends, 1), kMinSources));
  }
  add_shares(pairs, hosts);
  return pairs;
}

}  // namespace rdmameter
